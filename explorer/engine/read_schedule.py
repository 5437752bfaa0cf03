"""A schedule file as steps: Python, TVM's printed trace, or TVM's JSON trace."""

from __future__ import annotations

import msgspec

from explorer.engine.live import Live
from explorer.engine.record import Recorder
from explorer.errors import ScheduleTextError, StepRefused
from explorer.model.loaded import Note, Source
from explorer.model.result import RuleOutcome
from explorer.model.view import Proposal
from explorer.primitives import Step
from explorer.schedule_text import interpret, read_trace

RULE = "schedule file"


def read_schedule(source: Source, text: str, steps: tuple[Step, ...] = ()) -> Proposal:
    """The steps that a schedule file is, to be put behind `steps`.

    Text that is no schedule raises ScheduleTextError with its line.  A call that TVM refuses does
    not lose the rest: the proposal keeps the steps before it, its `refusal` says which line and
    why, and so do `note` and one failed outcome.
    """
    from explorer.engine.replay import replay

    return read_on(replay(source, steps).live, text)


def read_on(live: Live, text: str) -> Proposal:
    """`read_schedule` for a schedule that is there already; `live` is left as it was."""
    host = Recorder(live)
    notes: tuple[Note, ...] = ()
    try:
        if text.lstrip()[:1] in ("[", "{"):
            read_trace(text, host)
        else:
            notes = interpret(text, host)
    except StepRefused as refused:
        problem = refused.problem
        line = "" if problem.line is None else f"Line {problem.line}: "
        sentence = f"{line}{refused}"
        func = host.steps[-1].func() if host.steps else ""
        return Proposal(
            steps=msgspec.to_builtins(host.steps),
            outcomes=(
                RuleOutcome(
                    rule=RULE, function=func, status="failed", reason=sentence,
                    details=problem.details,
                ),
            ),
            note=f"{len(host.steps)} steps before it were kept. {sentence}",
            refusal=problem,
        )  # fmt: skip
    if not host.steps:
        raise ScheduleTextError(
            "This schedule does nothing.", "It has no call that changes the module."
        )
    said = [*host.notes, *(f"Line {note.line}: {note.message}" for note in notes)]
    functions = dict.fromkeys(step.func() for step in host.steps)
    return Proposal(
        steps=msgspec.to_builtins(host.steps),
        outcomes=tuple(
            RuleOutcome(rule=RULE, function=name, status="applied") for name in functions
        ),
        note=" ".join(said),
    )
