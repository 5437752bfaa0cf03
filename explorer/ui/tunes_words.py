"""What a search has to say, in words: fates, decisions, steering, history, figures.  Pure."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence

import msgspec

from explorer.tuning.events import (
    Candidate,
    Decision,
    Design,
    Ending,
    Entered,
    Fate,
    Finished,
    Started,
    Steered,
)
from explorer.tuning.job import Ban, Pin, Runner, Steering, TuneJob
from explorer.tuning.summary import State, Summary, figure
from explorer.ui.times import micros
from explorer.ui.words import Badge, Tone, check_badge

Value = int | tuple[int, ...]

FATES: dict[Fate, tuple[str, Tone, str]] = {
    "rejected": ("rejected", "calm", "A postprocessor of TVM refused the schedule."),
    "banned": ("banned", "calm", "Your steering leaves it out."),
    "duplicate": ("duplicate", "calm", "The same program as an earlier candidate."),
    "passed_over": ("passed over", "calm", "Valid, but the cost model preferred others so far."),
    "build_failed": ("build failed", "warn", "The compiler refused it, or it can't be launched."),
    "timed_out": ("timed out", "warn", "Building or running took too long, or its process died."),
    "run_failed": ("run failed", "warn", "The device refused to run it."),
    "wrong": ("wrong", "bad", "It ran, and its outputs differ from the reference."),
    "measured": ("measured", "good", "Built, run, compared with the reference and timed."),
    "predicted": ("predicted", "good", "Built and ranked by the static model; it was never run."),
}
"""Each fate's label, its tone and what it means."""

STATES: dict[State, tuple[str, Tone]] = {
    "new": ("not started", "calm"),
    "running": ("running", "busy"),
    "paused": ("paused", "warn"),
    "ended": ("ended", "calm"),
    "killed": ("killed", "bad"),
}
ENDINGS: dict[Ending, str] = {
    "done": "All trials are done.",
    "stopped": "Stopped by you; everything found so far is kept.",
    "budget": "The time is up; everything found so far is kept.",
    "exhausted": "There is nothing new left to try in this space.",
    "failed": "The search could not go on.",
}
PHASES = {
    "preparing": "preparing the search space", "searching": "searching",
    "checking": "checking the best",
}  # fmt: skip
RUNNERS: dict[Runner, str] = {
    "llvm": "This machine's processor", "cuda": "Local CUDA", "rpc": "Remote device (RPC)",
    "static": "Static: predicted, nothing is run",
}  # fmt: skip
STATIC = (
    "Predicted by the static model from compiler resources, occupancy, memory traffic and a "
    "roofline: nothing was run."
)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One decision of a candidate: where in the trace, what it is about, and its value."""

    at: int
    what: str
    value: Value
    text: str
    candidates: tuple[int, ...] = ()


def fate_badge(candidate: Candidate) -> Badge:
    """A candidate's fate; its own reason where it has one."""
    text, tone, about = FATES[candidate.fate]
    return Badge(text, tone, candidate.reason or about)


def state_badge(state: State, finished: Finished | None = None) -> Badge:
    """A job's state; how it ended where it did."""
    text, tone = STATES[state]
    if state == "ended" and finished is not None:
        how = "failed" if finished.how == "failed" else "done" if finished.how == "done" else text
        return Badge(how, "bad" if finished.how == "failed" else "good", ending(finished))
    if state == "killed":
        return Badge(text, tone, "Its process is gone; the database is kept. Resume goes on.")
    return Badge(text, tone)


def ending(finished: Finished) -> str:
    """How a job ended, as a sentence or two."""
    return " ".join(part for part in (ENDINGS[finished.how], finished.reason) if part)


def figure_text(candidate: Candidate) -> str:
    """A figure with what it is, e.g. "12.34 µs" or "12.34 µs predicted"; "" without one."""
    value = figure(candidate)
    if value is None:
        return ""
    return micros(value) + (" predicted" if candidate.fate == "predicted" else "")


def title(job: TuneJob) -> str:
    """What a job is about, in a few words."""
    names = ", ".join(task.function for task in job.tasks)
    return " · ".join(part for part in (job.title, names) if part)


def choices(candidate: Candidate, design: Design | None) -> list[Choice]:
    """A candidate's decisions in the order of the trace."""
    known = {each.at: each for each in design.decisions} if design is not None else {}
    return [
        Choice(
            at=at, what=_what(known.get(at), at), value=value,
            text=value_text(value, known.get(at)),
            candidates=known[at].candidates if at in known else (),
        )
        for at, value in sorted(candidate.decisions)
    ]  # fmt: skip


def value_text(value: Value, decision: Decision | None) -> str:
    """The value of a decision: factors, what was chosen, or a place."""
    if isinstance(value, tuple):
        return " × ".join(str(each) for each in value)
    if decision is not None and 0 <= value < len(decision.candidates):
        return str(decision.candidates[value])
    return {-1: "at the root", -2: "inlined"}.get(value, str(value))


def pin_words(pin: Pin, design: Design | None) -> str:
    """A pin as a sentence without its full stop."""
    known = _decision(design, pin.at)
    return f"Keep {_what(known, pin.at)} at {value_text(pin.value, known)}"


def ban_words(ban: Ban, design: Design | None) -> str:
    """A ban as a sentence without its full stop."""
    if ban.at is None:
        return f"Leave out design {ban.design}{_rule(design)}"
    known = _decision(design, ban.at)
    part = "" if ban.part is None else f", factor {ban.part + 1}"
    low, high = value_text(ban.low, known), value_text(ban.high, known)
    region = f"at {low}" if ban.low == ban.high else f"from {low} to {high}"
    return f"Leave out {_what(known, ban.at)}{part} {region}"


def steering_words(steering: Steering, summary: Summary) -> list[str]:
    """Everything that steers, a line each."""
    of = summary.designs
    lines = [pin_words(pin, of.get((pin.function, pin.design))) for pin in steering.pins]
    lines += [ban_words(ban, of.get((ban.function, ban.design))) for ban in steering.bans]
    lines += [f"Without the rule {name}" for name in steering.without_rules]
    lines += [f"With the rule {name}" for name in steering.with_rules]
    return lines + [f"Try {name}'s decisions first" for name, _, _ in steering.seeds]


def history_html(summary: Summary, limit: int = 40) -> str:
    """What happened to the job, latest first."""
    lines = [(each.at, _happened(each)) for each in reversed(summary.history)]
    rows = "".join(
        f"<dt>{time.strftime('%H:%M:%S', time.localtime(at))}</dt><dd>{html.escape(words)}</dd>"
        for at, words in lines[:limit]
    )
    more = len(lines) - limit
    rest = f'<p class="why">{more} earlier ones are in events.jsonl.</p>' if more > 0 else ""
    return f'<div class="prose"><dl class="facts">{rows}</dl>{rest}</div>'


def method(summary: Summary) -> str:
    """What the figures are and how they were got, in one line."""
    place = summary.place
    if summary.predicted:
        return place.method if place is not None and place.method else STATIC
    if place is None:
        return ""
    parts = [f"measured on {place.device}", place.method, *place.notes]
    return " · ".join(part for part in parts if part)


def check_of(summary: Summary, candidate: Candidate) -> Badge:
    """The verdict on a candidate, or why there is none yet."""
    checked = summary.checked.get(candidate.id)
    if checked is not None:
        return check_badge(checked.check)
    if candidate.origin == "imported":
        return Badge("not checked", "calm", "Its time is from another run, as its record says.")
    if candidate.unproved:
        return Badge(
            "not compared yet", "busy", "It was timed before the reference was there. Its outputs "
            "are kept and compared once it is; only then it counts as measured in the database.",
        )  # fmt: skip
    if candidate.fate == "measured" and candidate.reason:
        return Badge("not compared", "warn", candidate.reason)
    if candidate.fate == "measured":
        return Badge(
            "outputs agree", "calm", "Compared with the reference when it was timed. "
            f"The best {summary.job.top} of a function are checked again at the end.",
        )  # fmt: skip
    return Badge("not checked", "calm", f"The best {summary.job.top} are checked at the end.")


def duration(seconds: float) -> str:
    """A duration in one or two units, e.g. "8 s", "3 min", "1 h 20 min"."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def tiles_html(tiles: Sequence[tuple[str, str, str]]) -> str:
    """Figures side by side: (name, value, what it means)."""
    return (
        '<div class="tiles" role="status">'
        + "".join(
            f'<div title="{html.escape(about)}"><span>{html.escape(name)}</span>'
            f"<b>{html.escape(value)}</b></div>"
            for name, value, about in tiles
        )
        + "</div>"
    )


def _what(decision: Decision | None, at: int) -> str:
    return decision.what if decision is not None and decision.what else f"instruction {at}"


def _decision(design: Design | None, at: int) -> Decision | None:
    if design is None:
        return None
    return next((each for each in design.decisions if each.at == at), None)


def _rule(design: Design | None) -> str:
    return f" ({design.rule})" if design is not None and design.rule else ""


def _happened(event: Started | Entered | Steered | Finished) -> str:
    match event:
        case Started():
            return "Resumed from its folder." if event.again else "Started."
        case Entered():
            words = PHASES[event.phase]
            return f"{event.function}: {words[0].upper()}{words[1:]}."
        case Steered():
            told = {"paused": "Paused.", "resumed": "Going on."}.get(event.what, "Steered.")
            return f"{told} {event.words}".strip()
    return ending(event)
