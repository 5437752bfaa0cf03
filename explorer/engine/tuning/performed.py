"""A trace of a tuner performed on a module here, and proved against TVM's own replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec
from tvm import ir, s_tir

from explorer.engine.live import Live
from explorer.engine.record import Recorder
from explorer.engine.refuse import REFUSALS
from explorer.engine.tuning.same import carried, functions, same
from explorer.errors import Problem, ScheduleTextError, StepRefused
from explorer.model.result import RuleOutcome
from explorer.model.view import Proposal
from explorer.primitives import Step
from explorer.schedule_text import read_trace

OLD_KINDS = {"GetBlock": "GetSBlock"}
"""Instructions under their names in earlier versions."""
UNKNOWN = (
    "What it was tuned for can't be read, so it is not known whether this is the same function."
)


@dataclass(frozen=True)
class Performed:
    """The steps a trace is.  `proved`: they give the module that TVM's own replay gives.

    `refusal` is where it stopped; the steps are those before.
    """

    steps: tuple[Step, ...]
    proved: bool = False
    note: str = ""
    refusal: Problem | None = None

    def noted(self, note: str) -> Performed:
        """The same with something to say about it."""
        return replace(self, note=" ".join(filter(None, (self.note, note))))

    def proposal(self, rule: str, function: str, note: str = "") -> Proposal:
        """As what a strategy proposes; `note` comes first."""
        refused = self.refusal is not None
        return Proposal(
            steps=msgspec.to_builtins(self.steps), manual=self.proved or refused,
            note=" ".join(filter(None, (note, self.note))), refusal=self.refusal,
            outcomes=(RuleOutcome(
                rule=rule, function=function, status="failed" if refused else "applied",
                reason=self.note if refused else "",
            ),),
        )  # fmt: skip


def performed(
    live: Live,
    function: str,
    trace: list[Any],
    workload: ir.IRModule | None,
    expected: ir.IRModule | None = None,
) -> Performed:
    """A trace (plain JSON) as steps for `function` of `live`, which is left as it was.

    `workload` is the one-function module that it was made for; its function is the same but may
    have other names.  `expected` is what the trace makes of it, where that is known already.
    """
    trace = _for_main(trace, workload)
    done, after = _direct(live, function, trace)
    if workload is None:
        return done if done.refusal else done.noted(UNKNOWN)
    if expected is None:
        expected = _replayed(trace, workload)
    if expected is None:
        return done if done.refusal else done.noted("TVM 0.27 itself can't replay this trace.")
    wanted = expected[functions(expected)[0]]
    if done.refusal is None and same(after.mod[function], wanted):
        return Performed(done.steps, proved=True)
    moved = _by_place(live, function, trace, workload)
    if moved is not None and same(moved[1].mod[function], wanted):
        return Performed(moved[0], proved=True)
    if done.refusal is not None:
        return done
    return done.noted("These steps give another module than TVM's own replay of the trace.")


def _direct(live: Live, function: str, trace: list[Any]) -> tuple[Performed, Live]:
    host = Recorder(live, main=function)
    try:
        read_trace(trace, host)
    except (StepRefused, ScheduleTextError) as refused:
        note = f"{len(host.steps)} steps before it were kept. {refused}"
        return Performed(tuple(host.steps), note=note, refusal=refused.problem), host.live
    return Performed(tuple(host.steps)), host.live


def _by_place(
    live: Live, function: str, trace: list[Any], workload: ir.IRModule
) -> tuple[tuple[Step, ...], Live] | None:
    """The trace performed under its own names, each step carried over; None where refused."""
    own = functions(workload)[0]
    host = Recorder(Live(workload), main=own)
    other = live.copy()
    try:
        read_trace(trace, host)
        return carried(tuple(host.steps), Live(workload), other, function), other
    except (StepRefused, ScheduleTextError):
        return None


def _replayed(trace: list[Any], workload: ir.IRModule) -> ir.IRModule | None:
    """What TVM's own replay makes of the workload; None where it refuses."""
    if any(kind == "Tensorize" for kind, *_ in trace[0]):
        from explorer.engine.warm import warm

        warm()
    sch = s_tir.Schedule(workload)
    own = functions(workload)[0]
    try:
        s_tir.Trace.apply_json_to_schedule(_named(trace, "main", own), sch)
    except REFUSALS:
        return None
    return sch.mod


def in_todays_names(trace: list[Any]) -> list[Any]:
    """The trace with instructions called as in TVM 0.27."""
    return [[[OLD_KINDS.get(kind, kind), *rest] for kind, *rest in trace[0]], trace[1]]


def _for_main(trace: list[Any], workload: ir.IRModule | None) -> list[Any]:
    """The trace in today's names, its function called "main" as everywhere in MetaSchedule."""
    today = in_todays_names(trace)
    return today if workload is None else _named(today, functions(workload)[0], "main")


def _named(trace: list[Any], old: str, new: str) -> list[Any]:
    """The trace with the function that its blocks are fetched from under another name."""
    if old == new:
        return trace
    instructions = [
        [kind, inputs, [attrs[0], new], *rest]
        if kind == "GetSBlock" and attrs[1:] == [old] else [kind, inputs, attrs, *rest]
        for kind, inputs, attrs, *rest in trace[0]
    ]  # fmt: skip
    return [instructions, trace[1]]
