"""A variant as a candidate of a design: its steps are the design's steps with other numbers.

The design's trace is performed while the variant's steps are read along; what the design leaves
open is decided as the variant has it.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from tvm import ir

from explorer.engine.live import Live
from explorer.engine.record import Recorder
from explorer.engine.tuning.orders import Gene, Value
from explorer.errors import ScheduleTextError, StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import Step
from explorer.schedule_text.host import Variable
from explorer.schedule_text.trace_json import INPUTS, read_trace
from explorer.tuning.events import Design

_NOTES = "meta_schedule."
"""Annotations that the designs leave for postprocessing: a variant made by hand has none."""
_PLACED = ("compute_at", "reverse_compute_at")
_INLINED = ("compute_inline", "reverse_compute_inline")
_INLINE, _ROOT = -2, -1
"""Decisions about a location that are no number of a loop."""
_MOST_LOOPS = 48
_QUESTIONS = ("Get", "Sample")


class Misfit(Exception):
    """A variant is not of a design: `at` counts the steps that fit."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at


def seed_of(
    mod: ir.IRModule, function: str, steps: tuple[Step, ...], designs: tuple[Design, ...]
) -> Gene | str:
    """The candidate that a variant's steps on a function are, or why it is none of the designs.

    `steps` begin where the designs do: after those of the job.
    """
    own = tuple(step for step in steps if step.func() == function)
    nearest, where = -1, ""
    fitting: tuple[int, Gene] | None = None
    for design in designs:
        data = json.loads(design.trace)
        follower = _Follower(Live(mod), function, data[0], own)
        try:
            read_trace(data, follower)
        except (StepRefused, ScheduleTextError) as refused:
            if follower.next > nearest:
                nearest, where = follower.next, f"{design.number}: {refused.problem.what}"
        except Misfit as misfit:
            if misfit.at > nearest:
                nearest, where = misfit.at, f"{design.number}: {misfit}"
        else:
            gene = Gene(design.number, tuple(sorted(follower.decided.items())))
            if fitting is None or follower.next > fitting[0]:
                fitting = follower.next, gene
    if fitting is not None:  # the design that has most of the variant's steps
        return fitting[1]
    return f"Its steps are those of no design. Nearest is design {where}"


class _Follower(Recorder):
    """Performs a design, deciding as a variant's steps say."""

    def __init__(
        self, live: Live, function: str, instructions: list[Any], variant: tuple[Step, ...]
    ) -> None:
        super().__init__(live, main=function)
        self.decided: dict[int, Value] = {}
        self.next = 0
        """The variant's step that comes next."""
        self._instructions = instructions
        self._variant = variant
        self._at = -1

    def call(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Perform an instruction and read along.  Raises Misfit."""
        self._at += 1
        before = len(self.steps)
        made = super().call(method, args, kwargs)
        for step in self.steps[before:]:
            self._compare(step)
        return made

    def _compare(self, step: Step) -> None:
        theirs = self._variant[self.next] if self.next < len(self._variant) else None
        key = str(getattr(step, "ann_key", ""))
        if key.startswith(_NOTES):
            self.next += theirs is not None and getattr(theirs, "ann_key", "") == key
            return
        if theirs is None:
            raise Misfit(self.next, f"it goes on with {step.op()}, where the variant ends.")
        if _bare(theirs) != _bare(step):
            ours, other = _said(step), _said(theirs)
            other = "the same with other values" if ours == other else other
            raise Misfit(self.next, f"it has {ours} where the variant has {other}.")
        self.next += 1

    def _sample(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        decision: Value
        if method == "sample_compute_location":
            decision = self._place(kwargs["block"])
        else:
            decision = self._number(method, kwargs)
        self.decided[self._at] = decision
        return super()._sample(method, args, {**kwargs, "decision": decision})

    def _number(self, method: str, kwargs: dict[str, Any]) -> Value:
        """What the variant has in the step that takes the sampled numbers."""
        outputs = set(self._instructions[self._at][3])
        ahead = 0
        for kind, inputs, attrs, _ in self._instructions[self._at + 1 :]:
            taken = [n for n, value in enumerate(inputs) if _in(value, outputs)]
            if taken:
                break
            ahead += not kind.startswith(_QUESTIONS) and not _is_note(kind, attrs)
        else:
            return tuple(1 for _ in outputs) if method != "sample_categorical" else 0
        at = self.next + ahead
        step = self._variant[at] if at < len(self._variant) else None
        names = INPUTS[kind][1]
        if method != "sample_categorical":
            factors = getattr(step, "factors", ())
            whole = len(factors) == len(outputs) and all(type(each) is int for each in factors)
            if not whole:
                raise Misfit(self.next, f"it tiles into {len(outputs)}, and the variant does not.")
            return tuple(factors)
        if kind == "Annotate" and _is_note(kind, attrs):
            if step is None or getattr(step, "ann_key", None) != attrs[0]:
                return 0
            value = getattr(step, "ann_val", None)
        elif kind == "Annotate":
            value = getattr(step, "ann_val", None)
        else:
            first = len(names) - 1
            factors = getattr(step, "factors", ())
            value = factors[taken[0] - first] if taken[0] - first < len(factors) else None
        candidates = [int(each) for each in kwargs["candidates"]]
        if value not in candidates:
            raise Misfit(self.next, f"it has one of {candidates} where the variant has {value}.")
        return candidates.index(int(value))

    def _place(self, block: Variable) -> int:
        """The number of the loop at which the variant's next step puts the block."""
        step = self._variant[self.next] if self.next < len(self._variant) else None
        if step is None or getattr(step, "block", None) != self._reference(block):
            return _ROOT
        if step.op() in _INLINED:
            return _INLINE
        if step.op() not in _PLACED:
            return _ROOT
        wanted = getattr(step, "loop", None)
        assert isinstance(wanted, LoopRef)
        for number in (wanted.depth, *range(_MOST_LOOPS)):
            try:
                place = self._reference(self._location(block, number))
            except StepRefused:
                continue
            if isinstance(place, LoopRef) and place.depth == wanted.depth:
                return number
        raise Misfit(self.next, f"it can't do {_said(step)} at loop {wanted.depth}.")


def _bare(step: Step) -> Any:
    """A step without the names of its loops, which a reference may leave out."""

    def bare(value: Any) -> Any:
        if isinstance(value, LoopRef):
            return LoopRef(value.block, value.depth)
        return tuple(map(bare, value)) if isinstance(value, tuple) else value

    changed = {name: bare(getattr(step, name)) for name in step.__struct_fields__}
    return msgspec.structs.replace(step, **changed)


def _said(step: Step) -> str:
    """A step in short, for a sentence: "split main/C[0]:i"."""
    refs: tuple[BlockRef | LoopRef, ...] = step.refs()
    return f"{step.op()} {refs[0]}" if refs else step.op()


def _in(value: Any, names: set[str]) -> bool:
    if isinstance(value, list):
        return any(_in(each, names) for each in value)
    return isinstance(value, str) and value in names


def _is_note(kind: str, attrs: list[Any]) -> bool:
    return kind == "Annotate" and str(attrs[0]).startswith(_NOTES)
