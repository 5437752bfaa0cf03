"""Schedule calls as steps: every variable becomes a reference at the moment it is used.

`Recorder` is the host that schedule texts and traces are performed on.  It keeps a live schedule;
questions (`get_loops`, `get_producers`, …) are asked of it, and each primitive becomes a `Step`,
applied at once, so that the steps are known to work in that order.
"""

from __future__ import annotations

import ast
import functools
import typing
from typing import Any

import msgspec
from tvm import ir, s_tir, tirx
from tvm.s_tir.schedule.schedule import _get_sblock_default_dtype

from explorer.engine.live import Live
from explorer.engine.places import all_blocks, block_ref, loops_around, sref_of
from explorer.engine.refuse import REFUSALS, explain
from explorer.errors import ScheduleTextError, StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, Step
from explorer.schedule_text.host import Extent, IndexMapJson, Variable
from explorer.schedule_text.index_maps import plain_index_map

OLD_NAMES = {"get_block": "get_sblock"}
"""Method names of earlier TVM versions."""

_QUERIES = {
    "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks",
}  # fmt: skip
_LISTS = {"split", "loop_partition", "cache_inplace", "cache_index"}
"""Primitives that return a list, even of one."""
_NOTHING = {"enter_postproc", "show", "seed", "fork_seed"}
_INLINE, _ROOT = Variable("loop", "inline"), Variable("loop", "root")
"""Where `sample_compute_location` may decide that a block goes: into its consumer, or nowhere."""


class Recorder:
    """Performs schedule calls on a `Live` and collects the steps.

    `main` is the function that the calls mean by "main" (a rule's own trace always says that).
    """

    def __init__(self, live: Live, main: str = "") -> None:
        self.start = live
        self.live = live.copy()  # questions leave variables behind: never in the caller's
        self.steps: list[Step] = []
        self.working: str | None = None
        self.main = main
        self.notes: list[str] = []

    def restart(self) -> bool:
        """Forget everything performed so far; True when there was a step."""
        had = bool(self.steps)
        self.live, self.steps, self.working = self.start.copy(), [], None
        return had

    def call(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Perform `sch.<method>(*args, **kwargs)`.

        Raises StepRefused when TVM refuses, ScheduleTextError when there is no such call.
        """
        method = OLD_NAMES.get(method, method)
        if method in _NOTHING:
            return None
        if method == "work_on":
            self.working = self._function(self._only(method, args, kwargs, "func_name"))
            return None
        if method == "get_sblock":
            return self._get_sblock(*args, **kwargs)
        if method == "get":
            return self._get(self._only(method, args, kwargs, "rand_var_or_sref"))
        if method in _QUERIES:
            return self._query(method, args, kwargs)
        if method.startswith("sample_"):
            return self._sample(method, args, kwargs)
        if method in ("compute_at", "reverse_compute_at"):
            at = kwargs.get("loop", args[1] if len(args) > 1 else None)
            if at is _ROOT:
                return None
            if at is _INLINE:
                method = method.replace("_at", "_inline")
                args, kwargs = args[:1], {k: v for k, v in kwargs.items() if k == "block"}
        return self._step(method, args, kwargs)

    # Steps

    def _step(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        cls = STEPS.get(method)
        if cls is None:
            raise ScheduleTextError(
                f"sch.{method} is not a schedule primitive of TVM 0.27.",
                "Known are: " + ", ".join(sorted([*STEPS, *_QUERIES, "get_sblock"])) + ".",
            )
        fields = self._fields(cls, args, kwargs)
        try:
            step = msgspec.convert(fields, cls)
        except msgspec.ValidationError as error:
            raise ScheduleTextError(
                f"sch.{method} can't take these arguments.", f"{error}."
            ) from error
        made = self.live.do(step)
        self.steps.append(step)
        variables = [self._variable(rv) for rv in made]
        if method in _LISTS:
            return variables
        return variables[0] if len(variables) == 1 else (variables or None)

    def _fields(self, cls: type[Step], args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by the step's field names, variables as references."""
        names = list(cls.__struct_fields__)
        hints = _hints(cls)
        if cls.STARRED and cls.STARRED not in kwargs:
            given: dict[str, Any] = {cls.STARRED: tuple(args)}
        else:
            given = dict(zip(names, args, strict=False))
            if len(args) > len(names):
                raise ScheduleTextError(f"sch.{cls.op()} takes at most {len(names)} arguments.")
        for key, value in kwargs.items():
            if key not in names:
                known = ", ".join(names)
                raise ScheduleTextError(
                    f"sch.{cls.op()} has no argument {key}.", f"It has: {known}."
                )
            if key in given:
                raise ScheduleTextError(f"sch.{cls.op()} is given {key} twice.")
            given[key] = value
        block = given.get("block")
        return {key: self._plain(value, hints[key], block) for key, value in given.items()}

    def _plain(self, value: Any, hint: Any, block: Any = None) -> Any:
        """A step field's value: references for variables, text for index maps."""
        if isinstance(value, Variable):
            return self._reference(value)
        if isinstance(value, IndexMapJson):
            return index_map_text(value, self._index_dtype(block))
        if isinstance(value, (tuple, list)):
            inner = next((a for a in typing.get_args(hint) if a is not ...), None)
            return tuple(self._plain(item, inner) for item in value)
        if isinstance(value, Extent):
            return value.extent
        if isinstance(value, str) and hint is BlockRef:
            return self._reference(self._get_sblock(value))
        if isinstance(value, (tirx.IntImm, tirx.FloatImm)):
            return value.value
        if isinstance(value, str) and type(value) is not str:
            return str(value)
        return value

    def _index_dtype(self, block: Any) -> str:
        """The type of indices of a block, which a step's index maps are over."""
        stmt = self._sref(block).stmt if isinstance(block, Variable) else None
        return "" if stmt is None else str(_get_sblock_default_dtype(stmt))

    # References

    def _reference(self, variable: Variable) -> BlockRef | LoopRef:
        if variable in (_INLINE, _ROOT):
            raise StepRefused("The sampled location is not a loop.")
        sref = self._sref(variable)
        func = self._function_of(sref)
        if variable.kind == "block":
            return block_ref(self.live.sch, func, sref)
        below = self._block_below(sref, variable.origin)
        depth = next(n for n, around in enumerate(loops_around(below)) if around.same_as(sref))
        return LoopRef(block_ref(self.live.sch, func, below), depth, str(sref.stmt.loop_var.name))

    def _sref(self, variable: Variable) -> Any:
        try:
            sref = sref_of(self.live.sch, variable.value)
        except REFUSALS as error:
            raise StepRefused(
                f"The {variable.kind} of this variable is gone.",
                "An earlier step consumed it (fuse, split, inline).",
                "Use the variables that step returned.",
                details=str(error),
            ) from error
        if sref is None or sref.stmt is None:
            raise StepRefused(f"The {variable.kind} of this variable is gone.")
        return sref

    def _block_below(self, sref: Any, origin: Any) -> Any:
        """A block right below the loop: the one the loop was fetched from, or the first."""
        if origin is not None:
            try:
                found = sref_of(self.live.sch, origin)
            except REFUSALS:
                found = None
            if found is not None and any(around.same_as(sref) for around in loops_around(found)):
                return found
        for block in all_blocks(self.live.sch, self._function_of(sref)):
            found = sref_of(self.live.sch, block)
            if any(around.same_as(sref) for around in loops_around(found)):
                return found
        raise StepRefused("There is no block below this loop.")

    def _function_of(self, sref: Any) -> str:
        top = sref
        while top.parent is not None:
            top = top.parent
        for name in prim_functions(self.live.mod):
            body = self.live.mod[name].body
            if isinstance(body, s_tir.SBlockRealize) and body.block.same_as(top.stmt):
                return name
        raise StepRefused("This variable belongs to no function of the module.")

    # Questions

    def _get_sblock(self, name: Any, func_name: Any = None) -> Variable:
        if not isinstance(name, str):
            raise ScheduleTextError("get_sblock needs the name of a block.")
        func = self._function(func_name or self.working or "main")
        return Variable("block", self._ask("get_sblock", str(name), func_name=func))

    def _function(self, name: Any) -> str:
        """The function a text means: by name, or the only one when it says "main"."""
        known = prim_functions(self.live.mod)
        if name == "main" and self.main:
            return self.main
        if name in known:
            return str(name)
        if name == "main" and len(known) == 1:
            note = f"The text means function main; it was applied to {known[0]}."
            if note not in self.notes:
                self.notes.append(note)
            return known[0]
        raise StepRefused(
            f"The module has no function {name}.",
            f"It has: {', '.join(known)}." if known else "It has none that can be scheduled.",
            'Say which one with sch.work_on("…").',
        )

    def _query(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> list[Variable]:
        values = [*args, *kwargs.values()]
        if len(values) == 1 and isinstance(values[0], str):
            values = [self._get_sblock(values[0])]
        if len(values) != 1 or not isinstance(values[0], Variable):
            raise ScheduleTextError(f"sch.{method} needs one block.")
        variable = values[0]
        self._sref(variable)
        found = self._ask(method, variable.value)
        if method == "get_loops":
            return [Variable("loop", rv, variable.value) for rv in found]
        return [Variable("block", rv) for rv in found]

    def _get(self, variable: Any) -> Any:
        if not isinstance(variable, Variable) or variable.kind != "loop":
            raise ScheduleTextError("sch.get is read for loops only, to ask for their extent.")
        extent = self._sref(variable).stmt.extent
        return Extent(int(extent) if isinstance(extent, tirx.IntImm) else str(extent))

    def _ask(self, method: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(self.live.sch, method)(*args, **kwargs)
        except REFUSALS as error:
            raise explain(method, error) from error

    def _sample(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The value that was decided; sampling anew would give another schedule each time."""
        decision = kwargs.get("decision")
        if decision is None:
            raise StepRefused(
                f"{method} was left undecided.",
                "A schedule with a random choice is not one schedule.",
                "Save the trace of a tuned candidate, or write the numbers.",
            )
        if method == "sample_categorical":
            candidates = kwargs.get("candidates", args[0] if args else ())
            try:
                return candidates[int(decision)]
            except (IndexError, TypeError, ValueError) as error:
                raise ScheduleTextError("The decision is none of the candidates.") from error
        if method == "sample_compute_location":
            block = kwargs.get("block", args[0] if args else None)
            return self._location(block, decision)
        if not isinstance(decision, (list, tuple)):
            raise ScheduleTextError(f"{method} needs its decision as a list of factors.")
        return tuple(decision)

    def _location(self, block: Any, decision: Any) -> Variable:
        """The loop that a decision of sample_compute_location names, as TVM itself counts it."""
        if not isinstance(block, Variable) or type(decision) is not int:
            raise ScheduleTextError("sample_compute_location needs a block and a number.")
        if decision == -2:
            return _INLINE
        if decision == -1:
            return _ROOT
        rv = self._ask("sample_compute_location", block.value, decision)
        trace = self.live.sch.trace
        if trace.get_decision(trace.insts[-1]) != decision:  # TVM then picks one at random
            raise StepRefused(f"The block can't be computed at the location {decision} here.")
        return Variable("loop", rv)

    def _variable(self, rv: Any) -> Variable:
        loop = isinstance(rv, s_tir.schedule.LoopRV)
        return Variable("loop" if loop else "block", rv)

    @staticmethod
    def _only(method: str, args: list[Any], kwargs: dict[str, Any], name: str) -> Any:
        values = [*args, *kwargs.values()]
        if len(values) != 1 or (kwargs and name not in kwargs):
            raise ScheduleTextError(f"sch.{method} takes one argument, {name}.")
        return values[0]


@functools.lru_cache(maxsize=128)
def _hints(cls: type[Step]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def prim_functions(mod: ir.IRModule) -> tuple[str, ...]:
    """The names of the module's PrimFuncs, in the module's order."""
    return tuple(
        str(gv.name_hint) for gv, func in mod.functions_items() if isinstance(func, tirx.PrimFunc)
    )


def index_map_text(serialised: IndexMapJson, dtype: str) -> str:
    """The lambda of an index map in a JSON trace, over indices of type `dtype`.

    Raises ScheduleTextError when it is none.
    """
    try:
        index_map = ir.load_json(serialised.text)
    except REFUSALS as error:
        raise ScheduleTextError("The trace holds an index map that can't be read.") from error
    if not isinstance(index_map, tirx.IndexMap):
        raise ScheduleTextError("The trace holds something else where an index map belongs.")
    arguments = ", ".join(str(var.name) for var in index_map.initial_indices)
    results = []
    for result in index_map.final_indices:
        if isinstance(result, tirx.IntImm):
            own = str(result.ty.dtype) if hasattr(result.ty, "dtype") else str(result.ty)
            results.append(str(result.value) if own == dtype else f"T.{own}({result.value})")
        else:
            results.append(str(result))
    tree = ast.parse(f"lambda {arguments}: ({', '.join(results)},)", mode="eval").body
    assert isinstance(tree, ast.Lambda)
    return plain_index_map(tree, serialised.numbers.__getitem__)
