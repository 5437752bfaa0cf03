"""A live schedule: steps are applied to it, and it notes the Python lines they were.

The variables of the noted script carry the loops' own names (`i_0, i_1`), are reused while they
still point at the loop that is meant, and are fetched again (`sch.get_loops`) only when not.  The
noted lines, run on the same module, give the same schedule; exporters rely on that.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable
from typing import Any

from tvm import error, ir, s_tir, tirx
from tvm.s_tir.schedule.schedule import _get_sblock_default_dtype

from explorer.engine.places import (
    _pre_order,
    all_blocks,
    block_ref,
    blocks_named,
    loops_around,
    sref_of,
)
from explorer.engine.refuse import REFUSALS, explain
from explorer.engine.thread_axes import violations_in
from explorer.errors import Refusal, StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.axes import new_violation
from explorer.primitives.base import Step
from explorer.primitives.index_map import parse_index_map

__all__ = ["Live", "_pre_order", "all_blocks", "block_ref", "blocks_named", "loops_around"]


class Written:
    """A TVM value with the Python that makes it, for arguments that are more than a literal."""

    def __init__(self, value: Any, python: str) -> None:
        self.value = value
        self.python = python


class Live:
    """A TVM schedule with named variables.  `lines` is the script so far, after `sch = …`."""

    def __init__(self, mod: ir.IRModule) -> None:
        self.sch = s_tir.Schedule(mod, error_render_level="detail")
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self.axes: dict[str, list[Refusal]] = {}
        """What thread axes did wrong already, by function: a step answers for itself only."""

    @property
    def mod(self) -> ir.IRModule:
        """The module as scheduled so far."""
        return self.sch.mod

    def copy(self) -> Live:
        """An independent copy (about 0.1 ms); variables stay valid in it."""
        twin = Live.__new__(Live)
        twin.names = dict(self.names)
        try:
            twin.sch = self.sch.copy()
        except error.InternalError:  # TVM 0.27 can't copy a schedule right after a tensorize
            self._refresh()
            twin.sch = self.sch.copy()
        twin.lines = list(self.lines)
        twin.axes = dict(self.axes)
        return twin

    def apply(self, step: Step) -> tuple[Live, tuple[Any, ...]]:
        """The schedule after `step`, and the variables the step made; `self` is left as it was.

        Raises StepRefused with one sentence when the step does not apply.
        """
        after = self.copy()
        return after, after.do(step)

    def do(self, step: Step) -> tuple[Any, ...]:
        """Apply `step` in place; returns the variables it made.

        For callers that drop this schedule when the step is refused: it may be half done then.
        Raises StepRefused.
        """
        func = step.func() if step.refs() else ""
        if func and func not in self.axes:
            self.axes[func] = violations_in(self.mod, func)
        made = step.apply(self)
        if func:
            before, self.axes[func] = self.axes[func], violations_in(self.mod, func)
            wrong = new_violation(before, self.axes[func])
            if wrong is not None:
                raise StepRefused(wrong.what, wrong.why, wrong.do)
        return made

    def transform(
        self, label: str, fn: Callable[[ir.IRModule], ir.IRModule], lines: list[str]
    ) -> None:
        """Replace the module by `fn` of it, in place; every variable is forgotten.

        For steps that are whole passes.  `fn` gets a module of its own, which it may change;
        `lines` are Python that does the same to `sch` (it must end by assigning `sch` anew).
        `label` names the pass when it refuses.  Raises StepRefused.
        """
        own = ir.IRModule(dict(self.mod.functions_items()), attrs=self.mod.attrs)
        try:
            self.sch = s_tir.Schedule(fn(own), error_render_level="detail")
        except REFUSALS as refusal:
            raise explain(label, refusal) from refusal
        self.names.clear()
        self.axes.clear()
        self.lines += lines

    def whole(self, strategy: str, function: str, target: str, rule: str) -> None:
        """Run a strategy on one function in one go, in place.  Raises StepRefused.

        The noted line holds the resulting module as text: it needs no target and no workaround to
        give the same module again.
        """
        from explorer.engine.targets import cuda_tags
        from explorer.strategies import STRATEGIES
        from explorer.targets import resolve

        chosen = STRATEGIES[strategy]
        goal = resolve(target, cuda_tags())
        label = f"{chosen.title} {rule}".strip()
        self.transform(label, lambda mod: chosen.whole(mod, goal, function, rule), [])
        text = self.mod.script(show_meta=True)
        self.lines += [
            f"# {label} on {function} for {target}; its result:",
            f"sch = tvm.s_tir.Schedule(tvm.script.from_source({text!r}))",
        ]

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
            old = self._variable_at(sref_of(self.sch, variable))
            stale = None if old is None else self._name_of(old)
            names.append(self._name(variable, stale or self.sch.get(variable).loop_var.name, stale))
        comma = "," if len(names) == 1 else ""
        self.lines.append(f"{', '.join(names)}{comma} = sch.get_loops({self._name_of(block)})")
        return variables[ref.depth]

    def call(self, method: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a Schedule method and note it.  Raises StepRefused with TVM's reason."""
        try:
            result = getattr(self.sch, method)(
                *(_value(arg) for arg in args),
                **{key: _value(value) for key, value in kwargs.items()},
            )
        except REFUSALS as error:
            raise explain(method, error, self._subjects(args, kwargs), self.mod) from error
        several = isinstance(result, (list, tuple, ir.Array))
        made = tuple(rv for rv in (result if several else [result]) if rv is not None)
        shown = [self._text(arg) for arg in args]
        shown += [f"{key}={self._text(value)}" for key, value in kwargs.items()]
        line = f"sch.{method}({', '.join(shown)})"
        if made:
            names = [self._name(rv, self._own_name(rv)) for rv in made]
            comma = "," if several and len(names) == 1 else ""
            line = f"{', '.join(names)}{comma} = {line}"
        self.lines.append(line)
        return made

    def index_map(self, text: str, block: BlockRef) -> Written:
        """The index map that a lambda's text says, over the index type of `block`."""
        parsed = parse_index_map(text)
        dtype = _get_sblock_default_dtype(self._block_sref(block).stmt)
        variables = {name: tirx.Var(name, dtype) for name in parsed.arguments}
        results = parsed.values(variables, lambda number, own: tirx.IntImm(own or dtype, number))
        value = tirx.IndexMap(list(variables.values()), results, None)
        python = parsed.python(lambda number, own: f'tvm.tirx.IntImm("{own or dtype}", {number})')
        return Written(value, python)

    def iterators(self, ref: BlockRef) -> int:
        """How many iterators a block has."""
        return len(self._block_sref(ref).stmt.iter_vars)

    def constant_extent(self, ref: LoopRef, why: str) -> None:
        """Refuse a loop whose extent is not a number, for the reason `why`."""
        loop = self.sch.get(self.loop(ref))
        if not isinstance(loop.extent, tirx.IntImm):
            raise StepRefused(
                f"{loop.loop_var.name} runs {loop.extent} times, which is not a fixed number.",
                why,
                "Split it by a number and use the inner loop.",
            )

    def need_intrinsics(self) -> None:
        """Register TVM's CUDA tensor instructions; the noted script imports them once too."""
        from explorer.engine.warm import warm

        warm()
        # Not `import tvm.…`: in a function that would make `tvm` a local name.
        line = "from tvm.s_tir.tensor_intrin import cuda as _intrinsics"
        if line not in self.lines:
            self.lines.append(line)

    def _refresh(self) -> None:
        """Put a twin in the place of each block that holds blocks: TVM works out its scope anew.

        A tensorize leaves a block that is gone in the scope around it.  No trace is left of this,
        and every variable stays valid.
        """
        for var, func in self.mod.functions_items():
            if not isinstance(func, tirx.PrimFunc):
                continue
            for n in reversed(range(len(all_blocks(self.sch, var.name_hint)))):
                old = all_blocks(self.sch, var.name_hint)[n]
                inside: list[Any] = []
                _pre_order(old.body, inside.append)
                if not any(isinstance(stmt, s_tir.SBlock) for stmt in inside):
                    continue
                twin = s_tir.SBlock(
                    old.iter_vars, old.reads, old.writes, old.name_hint, old.body, old.init,
                    old.alloc_buffers, old.match_buffers, old.annotations,
                )  # fmt: skip
                self.sch.state.replace(sref_of(self.sch, old), twin, {old: twin})

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
            return sref_of(self.sch, rv).stmt is not None
        except REFUSALS:
            return False

    def _own_name(self, rv: Any) -> str:
        stmt = self.sch.get(rv)
        return str(stmt.loop_var.name if hasattr(stmt, "loop_var") else stmt.name_hint)

    def _name_of(self, rv: Any) -> str:
        for name, known in self.names.items():
            if known.same_as(rv):
                return name
        sref = sref_of(self.sch, rv)  # its name went to a newer variable of the same loop
        for name, known in self.names.items():
            if self._alive(known) and sref_of(self.sch, known).same_as(sref):
                return name
        raise KeyError(rv)

    def _variable_at(self, sref: Any) -> Any | None:
        """The newest variable of the block or loop at `sref`; the dead ones met are forgotten."""
        for name, rv in reversed(list(self.names.items())):
            if not self._alive(rv):
                del self.names[name]  # asking TVM for a dead one costs an exception each time
            elif sref_of(self.sch, rv).same_as(sref):
                return rv
        return None

    def _text(self, value: Any) -> str:
        if isinstance(value, _VARIABLES):
            return self._name_of(value)
        if isinstance(value, Written):
            return value.python
        if isinstance(value, list):
            return f"[{', '.join(self._text(item) for item in value)}]"
        if isinstance(value, tuple):
            return f"({', '.join(self._text(item) for item in value)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return repr(value)

    def _subjects(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """Names of the blocks and loops a call was about, for its refusal."""
        found = []
        for value in (*args, *kwargs.values()):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, _VARIABLES) and self._alive(item):
                    found.append(self._own_name(item))
        return found

    # Finding blocks

    def _block_sref(self, ref: BlockRef) -> Any:
        same = blocks_named(self.sch, ref.func, ref.name)
        if ref.nth >= len(same):
            known = ", ".join(sorted({b.name_hint for b in all_blocks(self.sch, ref.func)}))
            raise StepRefused(
                f"Function {ref.func} has no block {ref.name} any more.",
                f"Its blocks are: {known}." if known else "It has no blocks.",
            )
        return sref_of(self.sch, same[ref.nth])

    def _child_block(self, ref: BlockRef, sref: Any) -> Any:
        """A block whose name is not unique, through its parent block's list of children."""
        parent = sref.parent
        while not isinstance(parent.stmt, s_tir.SBlock):
            parent = parent.parent
        siblings = blocks_named(self.sch, ref.func, parent.stmt.name_hint)
        nth = next(n for n, b in enumerate(siblings) if sref_of(self.sch, b).same_as(parent))
        scope = self.block(BlockRef(parent.stmt.name_hint, nth, ref.func))
        children = list(self.sch.get_child_blocks(scope))
        at = next(n for n, rv in enumerate(children) if sref_of(self.sch, rv).same_as(sref))
        name = self._name(children[at], ref.name)
        self.lines.append(f"{name} = sch.get_child_blocks({self._name_of(scope)})[{at}]")
        return children[at]


def _value(arg: Any) -> Any:
    return arg.value if isinstance(arg, Written) else arg


_VARIABLES = (s_tir.schedule.LoopRV, s_tir.schedule.SBlockRV)
_RESERVED = {"sch", "mod", "tvm", "T", "I", "target", "None", "True", "False", *keyword.kwlist}
