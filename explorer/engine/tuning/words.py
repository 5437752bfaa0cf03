"""What the sampling instructions of a design decide, in words."""

from __future__ import annotations

from typing import Any

from tvm import ir, runtime, s_tir, tirx

from explorer.engine.places import _pre_order
from explorer.tuning.events import Decision

_ANNOTATED = {
    "meta_schedule.unroll_explicit": "limit of unrolling in {block}",
    "meta_schedule.unroll_implicit": "limit of unrolling in {block}",
    "meta_schedule.cooperative_fetch": "elements a thread loads at once in {block}",
}
"""What a sampled number means when it becomes this annotation of a block."""


def decisions_of(workload: ir.IRModule, design: s_tir.Trace) -> tuple[Decision, ...]:
    """The decisions that are open in a design, in the order of its instructions.

    The design must hold decisions that apply: it is performed, to see the loops and blocks by the
    names that they have then.
    """
    sch = s_tir.Schedule(workload, seed=1, error_render_level="none")
    instructions = list(design.insts)
    number = {instruction: at for at, instruction in enumerate(instructions)}
    found: dict[int, Decision] = {}

    def see(instruction: Any, inputs: Any, attrs: Any, decision: Any) -> Any:
        at = number[instruction]
        kind = str(instruction.kind.name)
        if kind in ("SamplePerfectTile", "SamplePartitionedTile"):
            loop = sch.get(inputs[0])
            what = f"tile of {loop.loop_var.name} in {_below(loop)}"
            found[at] = Decision(at, what, parts=int(attrs[0]))
        elif kind == "SampleCategorical":
            candidates = tuple(int(value) for value in attrs[0])
            found[at] = Decision(at, "a choice", candidates=candidates)
        elif kind == "SampleComputeLocation":
            found[at] = Decision(at, f"loop that block {_name(sch, inputs[0])} is computed at")
        elif (choice := _chosen_by(instructions, instruction, found)) is not None:
            what = _use(sch, kind, inputs, attrs)
            found[choice] = Decision(choice, what, candidates=found[choice].candidates)
        return decision

    design.apply_to_schedule(sch, True, see)
    return tuple(found[at] for at in sorted(found))


def _chosen_by(instructions: list[Any], user: Any, found: dict[int, Decision]) -> int | None:
    """The choice, not yet explained, whose number this instruction takes."""
    for value in user.inputs:
        for at, decision in found.items():
            if decision.what == "a choice" and _is(instructions[at].outputs[0], value):
                return at
    return None


def _use(sch: s_tir.Schedule, kind: str, inputs: Any, attrs: Any) -> str:
    if kind == "Annotate":
        block = f"block {_name(sch, inputs[0])}"
        key = str(attrs[0])
        return _ANNOTATED.get(key, key + " of {block}").format(block=block)
    if kind == "Split":
        loop = sch.get(inputs[0])
        return f"size of the inner part of {loop.loop_var.name} in {_below(loop)}"
    return f"number that {kind} takes"


def _is(variable: Any, value: Any) -> bool:
    return isinstance(value, runtime.Object) and bool(variable.same_as(value))


def _name(sch: s_tir.Schedule, place: Any) -> str:
    stmt = sch.get(place)
    return str(stmt.loop_var.name if isinstance(stmt, tirx.For) else stmt.name_hint)


def _below(loop: Any) -> str:
    """The blocks right below a loop: "block C"."""
    names: list[str] = []

    def visit(stmt: Any) -> None:
        if isinstance(stmt, s_tir.SBlock):
            names.append(str(stmt.name_hint))

    _pre_order(loop, visit)
    return f"block {names[0]}" if names else "no block"
