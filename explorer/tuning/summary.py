"""What follows from a job's events: its state, the funnel, the curve, the best.  Pure."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from explorer.model.race import Provenance
from explorer.tuning.agreement import agreement
from explorer.tuning.events import (
    Candidate,
    Checked,
    Design,
    Entered,
    Event,
    Fate,
    Finished,
    Rival,
    Started,
    Steered,
)
from explorer.tuning.job import TuneJob

State = Literal["new", "running", "paused", "ended", "killed"]

FUNNEL: tuple[Fate, ...] = (
    "rejected", "banned", "duplicate", "passed_over",
    "build_failed", "timed_out", "run_failed", "wrong", "measured", "predicted",
)  # fmt: skip
"""The ways to end, in the order in which candidates meet them."""


class Point(msgspec.Struct, frozen=True):
    """The best so far after a trial: its number, seconds since the start, and the best figure."""

    trial: int
    since_s: float
    best_us: float


class Summary:
    """Everything so far; `add` events in their order."""

    def __init__(self, job: TuneJob) -> None:
        self.job = job
        self.started: list[Started] = []
        self.finished: Finished | None = None
        self.paused = False
        self.phase: dict[str, str] = {}
        self.designs: dict[tuple[str, int], Design] = {}
        self.candidates: dict[int, Candidate] = {}
        self.rivals: dict[tuple[str, str], Rival] = {}
        self.checked: dict[int, Checked] = {}
        self.steered: list[Steered] = []
        self.history: list[Started | Entered | Steered | Finished] = []
        """What happened to the job itself, in order."""
        self._paused_at = 0.0
        self._paused_s = 0.0

    def add(self, events: list[Event]) -> None:
        """Take note of events."""
        for event in events:
            if isinstance(event, Started | Entered | Steered | Finished):
                self.history.append(event)
            match event:
                case Started():
                    self.started.append(event)
                    self.finished, self.paused, self._paused_s = None, False, 0.0
                    self.phase.clear()
                case Entered():
                    self.phase[event.function] = event.phase
                case Design():
                    self.designs[event.function, event.number] = event
                case Candidate():
                    self.candidates.pop(event.id, None)  # its place is that of the last word on it
                    self.candidates[event.id] = event
                case Rival():
                    self.rivals[event.function, event.name] = event
                case Checked():
                    self.checked[event.id] = event
                case Steered():
                    self.steered.append(event)
                    self._pause(event)
                case Finished():
                    self.finished = event

    def _pause(self, event: Steered) -> None:
        if event.what == "paused" and not self.paused:
            self._paused_at = event.at
        if event.what == "resumed" and self.paused:
            self._paused_s += event.at - self._paused_at
        if event.what != "steered":
            self.paused = event.what == "paused"

    @property
    def predicted(self) -> bool:
        """Its figures are the static model's: nothing is run."""
        return self.job.runner == "static"

    @property
    def place(self) -> Provenance | None:
        """Device and method of its figures, as the last start that knew them told."""
        return next((each.place for each in reversed(self.started) if each.place), None)

    def state(self, running: bool) -> State:
        """Where the job is; `running` is whether a process holds its folder."""
        if running:
            return "paused" if self.paused else "running"
        if self.finished is not None:
            return "ended"
        return "killed" if self.started else "new"

    def trials(self, function: str = "") -> int:
        """Candidates that were sent to be built, of a function or of all."""
        return sum(1 for each in self._of(function) if each.trial)

    def funnel(self, function: str = "") -> dict[Fate, int]:
        """How many ended in which way; their sum is what was sampled."""
        counts: dict[Fate, int] = dict.fromkeys(FUNNEL, 0)
        for each in self._of(function):
            counts[each.fate] += 1
        return counts

    def latest(self, function: str = "") -> list[Candidate]:
        """Every candidate, the latest word first."""
        return self._of(function)[::-1]

    def with_fate(self, fate: Fate, function: str = "") -> list[Candidate]:
        """Candidates that ended so, latest first."""
        return [each for each in reversed(self._of(function)) if each.fate == fate]

    def reasons(self, fate: Fate, function: str = "") -> list[tuple[str, int]]:
        """What ended the candidates of a fate (postprocessor or tool), the most frequent first."""
        return Counter(each.by for each in self._of(function) if each.fate == fate).most_common()

    def scored(self, function: str) -> list[Candidate]:
        """Those with a figure that the cost model had ranked before they were built."""
        return [each for each in self.ranked(function) if each.score is not None]

    def agreement(self, function: str) -> float | None:
        """How well the cost model's order was the order of the figures, 1 to -1; None: too few."""
        some = self.scored(function)
        return agreement([-(c.score or 0.0) for c in some], [figure(c) or 0.0 for c in some])

    def ranked(self, function: str) -> list[Candidate]:
        """Measured or predicted candidates of a function, best first.

        One whose check found it wrong is left out.
        """
        found = [
            each for each in self._of(function)
            if figure(each) is not None and not self._refuted(each.id)
        ]  # fmt: skip
        return sorted(found, key=lambda each: (figure(each) or 0.0, each.id))

    def best(self, function: str) -> Candidate | None:
        """The best candidate, or None while there is none."""
        return next(iter(self.ranked(function)), None)

    def curve(self, function: str) -> list[Point]:
        """How the best figure fell, one point for each trial that has a figure."""
        points: list[Point] = []
        start = self.started[0].at if self.started else 0.0
        best = float("inf")
        for each in sorted(self._of(function), key=lambda each: (each.trial, each.at)):
            value = figure(each)
            if value is not None and not self._refuted(each.id):
                best = min(best, value)
                points.append(Point(each.trial, each.at - start, best))
        return points

    def left_s(self, now: float) -> float | None:
        """An estimate of the seconds left, from the pace since the last start without its pauses.

        None before there is a pace, while it is paused and once it has ended.
        """
        if not self.started or self.finished is not None or self.paused:
            return None
        since = self.started[-1].at
        done = sum(1 for each in self.candidates.values() if each.trial and each.at >= since)
        left = max(self.job.trials - self.trials(), 0)
        if not done or now <= since:
            return None
        by_pace = left * (now - since - self._paused_s) / done
        if self.job.budget_min is None:
            return by_pace
        return max(min(by_pace, self.job.budget_min * 60 - (now - since)), 0.0)

    def _of(self, function: str) -> list[Candidate]:
        every = self.candidates.values()
        return [each for each in every if not function or each.function == function]

    def _refuted(self, id: int) -> bool:
        checked = self.checked.get(id)
        wrong = ("mismatch", "out_of_bounds", "race", "deadlock")
        return checked is not None and checked.check.status in wrong


def figure(candidate: Candidate) -> float | None:
    """A measured time, or the predicted one where nothing is measured; None without either."""
    if candidate.fate == "measured":
        return candidate.us
    return candidate.predicted_us if candidate.fate == "predicted" else None
