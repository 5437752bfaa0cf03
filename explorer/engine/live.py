"""A live schedule: steps are applied to it, and it notes the Python lines they were.

The variables of the noted script carry the loops' own names (`i_0, i_1`), are reused while they
still point at the loop that is meant, and are fetched again (`sch.get_loops`) only when not.  The
noted lines, run on the same module, give the same schedule; exporters rely on that.
"""

from __future__ import annotations

import re
from typing import Any

from tvm import ir, s_tir

from explorer.engine.refuse import REFUSALS, explain
from explorer.errors import StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Step


class Live:
    """A TVM schedule with named variables.  `lines` is the script so far, after `sch = …`."""

    def __init__(self, mod: ir.IRModule) -> None:
        self.sch = s_tir.Schedule(mod, error_render_level="detail")
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []

    @property
    def mod(self) -> ir.IRModule:
        """The module as scheduled so far."""
        return self.sch.mod

    def copy(self) -> Live:
        """An independent copy (about 0.1 ms); variables stay valid in it."""
        twin = Live.__new__(Live)
        twin.sch = self.sch.copy()
        twin.names = dict(self.names)
        twin.lines = list(self.lines)
        return twin

    def apply(self, step: Step) -> tuple[Live, tuple[Any, ...]]:
        """The schedule after `step`, and the variables the step made; `self` is left as it was.

        Raises StepRefused with one sentence when the step does not apply.
        """
        after = self.copy()
        return after, step.apply(after)

    # What steps ask (explorer.primitives.base.Resolver)

    def block(self, ref: BlockRef) -> Any:
        """The variable of a block, fetched and named when it has none yet.  Raises StepRefused."""
        sref = self._block_sref(ref)
        known = self._variable_at(sref)
        if known is not None:
            return known
        same = blocks_named(self.sch, ref.func, ref.name)
        if len(same) == 1:
            rv = self.sch.get_sblock(ref.name, func_name=ref.func)
            name = self._name(rv, ref.name)
            func = "" if ref.func == "main" else f', func_name="{ref.func}"'
            self.lines.append(f'{name} = sch.get_sblock("{ref.name}"{func})')
            return rv
        return self._child_block(ref, sref)

    def loop(self, ref: LoopRef) -> Any:
        """The variable of a loop; all loops around the block are fetched if it has none yet.

        Raises StepRefused when the place is empty or another loop is there.
        """
        around = loops_around(self._block_sref(ref.block))
        if ref.depth >= len(around):
            raise StepRefused(
                f"Block {ref.block.name} has no loop number {ref.depth} any more.",
                f"{len(around)} loops are around it now.",
            )
        sref = around[ref.depth]
        actual = sref.stmt.loop_var.name
        if ref.name and actual != ref.name:
            raise StepRefused(
                f"The loop {ref.name} of block {ref.block.name} is gone: {actual} is there now.",
                "An earlier step that this one builds on was changed.",
            )
        known = self._variable_at(sref)
        if known is not None:
            return known
        block = self.block(ref.block)
        variables = list(self.sch.get_loops(block))
        names = []
        for variable in variables:
            old = self._variable_at(self.sch.get_sref(variable))
            stale = None if old is None else self._name_of(old)
            names.append(self._name(variable, stale or self.sch.get(variable).loop_var.name, stale))
        comma = "," if len(names) == 1 else ""
        self.lines.append(f"{', '.join(names)}{comma} = sch.get_loops({self._name_of(block)})")
        return variables[ref.depth]

    def call(self, method: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a Schedule method and note it.  Raises StepRefused with TVM's reason, shortened."""
        try:
            result = getattr(self.sch, method)(*args, **kwargs)
        except REFUSALS as error:
            raise explain(method, error) from error
        made = tuple(result) if isinstance(result, (list, tuple)) else (result,)
        made = tuple(rv for rv in made if rv is not None)
        shown = [self._text(arg) for arg in args]
        shown += [f"{key}={self._text(value)}" for key, value in kwargs.items()]
        line = f"sch.{method}({', '.join(shown)})"
        if made:
            names = [self._name(rv, self._own_name(rv)) for rv in made]
            comma = "," if isinstance(result, (list, tuple)) and len(names) == 1 else ""
            line = f"{', '.join(names)}{comma} = {line}"
        self.lines.append(line)
        return made

    # Names

    def _name(self, rv: Any, wish: str, take: str | None = None) -> str:
        """Give `rv` a free Python name like `wish`; `take` is a name it may take over."""
        stem = re.sub(r"\W", "_", wish) or "v"
        if stem[0].isdigit() or stem in _RESERVED:
            stem = f"_{stem}"
        name, n = stem, 1
        while name != take and name in self.names and self._alive(self.names[name]):
            name, n = f"{stem}_{n}", n + 1
        self.names[name] = rv
        return name

    def _alive(self, rv: Any) -> bool:
        try:
            return self.sch.get_sref(rv).stmt is not None
        except REFUSALS:
            return False

    def _own_name(self, rv: Any) -> str:
        stmt = self.sch.get(rv)
        return str(stmt.loop_var.name if hasattr(stmt, "loop_var") else stmt.name_hint)

    def _name_of(self, rv: Any) -> str:
        for name, known in self.names.items():
            if known.same_as(rv):
                return name
        raise KeyError(rv)

    def _variable_at(self, sref: Any) -> Any | None:
        for rv in reversed(self.names.values()):
            if self._alive(rv) and self.sch.get_sref(rv).same_as(sref):
                return rv
        return None

    def _text(self, value: Any) -> str:
        if isinstance(value, (s_tir.schedule.LoopRV, s_tir.schedule.SBlockRV)):
            return self._name_of(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._text(item) for item in value)}]"
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return repr(value)

    # Finding blocks

    def _block_sref(self, ref: BlockRef) -> Any:
        same = blocks_named(self.sch, ref.func, ref.name)
        if ref.nth >= len(same):
            known = ", ".join(sorted({b.name_hint for b in all_blocks(self.sch, ref.func)}))
            raise StepRefused(
                f"Function {ref.func} has no block {ref.name} any more.",
                f"Its blocks are: {known}." if known else "It has no blocks.",
            )
        return self.sch.get_sref(same[ref.nth])

    def _child_block(self, ref: BlockRef, sref: Any) -> Any:
        """A block whose name is not unique, through its parent block's list of children."""
        parent = sref.parent
        while not isinstance(parent.stmt, s_tir.SBlock):
            parent = parent.parent
        siblings = blocks_named(self.sch, ref.func, parent.stmt.name_hint)
        nth = next(n for n, b in enumerate(siblings) if self.sch.get_sref(b).same_as(parent))
        scope = self.block(BlockRef(parent.stmt.name_hint, nth, ref.func))
        children = list(self.sch.get_child_blocks(scope))
        at = next(n for n, rv in enumerate(children) if self.sch.get_sref(rv).same_as(sref))
        name = self._name(children[at], ref.name)
        self.lines.append(f"{name} = sch.get_child_blocks({self._name_of(scope)})[{at}]")
        return children[at]


_RESERVED = {"sch", "mod", "tvm", "T", "I", "target"} | set(
    "and as assert async await break class continue def del elif else except finally for from global if "
    "import in is lambda nonlocal not or pass raise return try while with yield None True False".split()
)


def all_blocks(sch: s_tir.Schedule, func: str) -> list[Any]:
    """Every block of function `func` in pre-order, the root block first.

    Raises StepRefused when the module has no such PrimFunc.
    """
    found: list[Any] = []
    if func not in {gv.name_hint for gv in sch.mod.get_global_vars()}:
        raise StepRefused(f"The module has no function {func}.")

    def visit(stmt: Any) -> None:
        if isinstance(stmt, s_tir.SBlock):
            found.append(stmt)

    _pre_order(sch.mod[func].body, visit)
    return found


def blocks_named(sch: s_tir.Schedule, func: str, name: str) -> list[Any]:
    """The blocks of `func` called `name`, in pre-order."""
    return [block for block in all_blocks(sch, func) if block.name_hint == name]


def loops_around(sref: Any) -> list[Any]:
    """The loop srefs around a block up to the enclosing block, outermost first."""
    loops: list[Any] = []
    up = sref.parent
    while up is not None and not isinstance(up.stmt, s_tir.SBlock):
        loops.insert(0, up)
        up = up.parent
    return loops


def block_ref(sch: s_tir.Schedule, func: str, sref: Any) -> BlockRef:
    """The reference of the block at `sref`."""
    name = sref.stmt.name_hint
    same = blocks_named(sch, func, name)
    nth = next(n for n, block in enumerate(same) if sch.get_sref(block).same_as(sref))
    return BlockRef(name, nth, func)


def _pre_order(stmt: Any, visit: Any) -> None:
    """Statements in source order; tirx's visitors are post-order, which would number children first."""
    from tvm import tirx

    visit(stmt)
    if isinstance(stmt, s_tir.SBlockRealize):
        _pre_order(stmt.block, visit)
        return
    if isinstance(stmt, tirx.SeqStmt):
        for item in stmt.seq:
            _pre_order(item, visit)
        return
    for field in ("init", "body", "then_case", "else_case"):
        child = getattr(stmt, field, None)
        if child is not None and isinstance(child, tirx.Stmt):
            _pre_order(child, visit)
