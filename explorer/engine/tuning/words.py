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


def told(
    workload: ir.IRModule, design: s_tir.Trace
) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
    """The decisions that are open in a design, and what it does beside tiling, in words.

    Both are in the order of its instructions.

    The design must hold decisions that apply: it is performed, to see the loops and blocks by the
    names that they have then.
    """
    sch = s_tir.Schedule(workload, seed=1, error_render_level="none")
    instructions = list(design.insts)
    number = {instruction: at for at, instruction in enumerate(instructions)}
    found: dict[int, Decision] = {}
    does: list[str] = []

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
        if kind == "RFactor":
            loop = sch.get(inputs[0])
            does.append(f"rfactor of {loop.loop_var.name} in {_below(loop)}")
        elif kind in _DOES and not _sampled_place(instructions, instruction):
            does.append(_DOES[kind].format(*(_name(sch, each) for each in inputs[:2])))
        elif kind == "Annotate" and str(attrs[0]) == "software_pipeline_stage":
            does.append(f"pipeline {', '.join(str(each) for each in inputs[1])}")
        return decision

    design.apply_to_schedule(sch, True, see)
    return tuple(found[at] for at in sorted(found)), tuple(does)


def distinct(does: dict[int, tuple[str, ...]]) -> dict[int, str]:
    """Of what several designs do, by number: what not all do, "plain" where nothing remains.

    {} when that tells none from another.
    """
    common = set.intersection(*map(set, does.values()))
    own = {
        number: ", ".join(each for each in dict.fromkeys(words) if each not in common) or "plain"
        for number, words in does.items()
    }
    return own if len(set(own.values())) > 1 else {}


_DOES = {
    "CacheRead": "cache_read of {0}", "CacheWrite": "cache_write of {0}",
    "ComputeAt": "{0} at {1}", "ReverseComputeAt": "{0} at {1}",
    "ComputeInline": "{0} inlined", "ReverseComputeInline": "{0} inlined",
}  # fmt: skip


def _chosen_by(instructions: list[Any], user: Any, found: dict[int, Decision]) -> int | None:
    """The choice, not yet explained, whose number this instruction takes."""
    for value in user.inputs:
        for at, decision in found.items():
            if decision.what == "a choice" and _is(instructions[at].outputs[0], value):
                return at
    return None


def _sampled_place(instructions: list[Any], user: Any) -> bool:
    """An instruction takes a loop that was sampled."""
    places = [each for each in instructions if each.kind.name == "SampleComputeLocation"]
    return any(_is(each.outputs[0], value) for each in places for value in user.inputs)


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
    """The name of a block or loop; any other input as text."""
    if not isinstance(place, (s_tir.schedule.SBlockRV, s_tir.schedule.LoopRV)):
        return str(place)
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
