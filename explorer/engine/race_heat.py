"""One function on one device: rounds until enough is known, and what they came to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from explorer.engine.race_lane import Gone, Lane
from explorer.engine.race_material import PLANS, Material
from explorer.model.analysis import Roofline, Work
from explorer.model.race import Heat, Method, Provenance, Row
from explorer.race.bound import impossible
from explorer.race.interval import QUICK, RESAMPLES, median_interval, spread
from explorer.race.rounds import MOST_ROUNDS, Samples, calls, enough, order
from explorer.race.verdict import LEAST_ROUNDS, verdicts, winner

FIRST_TURN_S = 30.0
"""A variant's first call, whose time nobody knows, may take so long."""
LEAST_TURN_S = 10.0
SLOWER = 50.0
"""A turn may take so many times what it took before; then it counts as hung."""
OVERRUN = 4.0
"""Slow kernels may use so many budgets to get a few rounds."""
LEAST_SLOW_ROUNDS = 3
SHOW_S = 0.4
"""Intermediate figures are told so often."""


@dataclass
class Entry:
    """A variant in this heat: what it ran, and why it stopped, if it did."""

    number: int
    name: str
    samples: Samples = field(default_factory=Samples)
    guess_us: float = 0.0
    reason: str = ""
    wrong: str = ""

    @property
    def running(self) -> bool:
        """It still takes part."""
        return not self.reason and not self.wrong


@dataclass
class Track:
    """How to get at the device again: a new process, with these variants loaded."""

    open: Callable[[], Lane]
    load: Callable[[Lane, int], None]


class DeviceLost(Exception):
    """The device does not come back; the message is a sentence."""


class HeatRun:
    """Runs the variants of one function on one device.  `show` gets every intermediate heat."""

    def __init__(
        self, material: Material, entries: list[Entry], track: Track, method: Method,
        place: Provenance, work: Work | None, bound: Roofline | None, l2_bytes: int | None,
        show: Callable[[Heat], None],
    ) -> None:  # fmt: skip
        self.material, self.entries, self.track = material, entries, track
        self.method, self.place = method, place
        self.work, self.bound, self.l2_bytes = work, bound, l2_bytes
        self.show = show
        self.lane: Lane | None = None
        self.lost = ""
        self.rounds = 0
        self._shown_s = 0.0
        self._aside_s = 0.0
        """Spent on the reference and on what broke down, which is not timing."""

    def run(self, lane: Lane) -> Heat:
        """All rounds.  `lane` is a process on the device that has loaded nothing yet."""
        self.lane = lane
        try:
            self._load()
            self._race()
        except DeviceLost as lost:
            self.lost = str(lost)
            for entry in self.entries:
                if entry.running:
                    entry.reason = f"The device was lost: {self.lost}."
        finally:
            if self.lane is not None:
                self.lane.close()
        return self.heat(final=True)

    def _race(self) -> None:
        started = time.monotonic()
        for plan in range(len(PLANS)):
            self._round(plan, warm_up=plan == 0)
        self._tell(now=True)
        if self.material.ready is None:
            before = time.monotonic()
            self.material.make_reference()
            self._aside_s += time.monotonic() - before
        checked = 0
        next_look = LEAST_ROUNDS
        while self._running() and self.rounds < MOST_ROUNDS:
            used = time.monotonic() - started - self._aside_s
            few = self.rounds < LEAST_SLOW_ROUNDS or checked < len(PLANS)
            if used > self.method.budget_s * (OVERRUN if few else 1.0):
                break
            if self.rounds >= next_look:
                next_look = self.rounds + max(self.rounds // 4, 5)
                if enough({entry.name: entry.samples for entry in self._running()}):
                    break
            self._round(self.rounds % len(PLANS))
            checked += 1
            self._tell()

    def _round(self, plan: int, *, warm_up: bool = False) -> None:
        """A turn for everyone who still runs, in an order of its own."""
        running = self._running()
        for at in order(len(running), self.rounds, self.method.seed):
            entry = running[at]
            if warm_up:
                first = self._turn(entry, plan, 1, FIRST_TURN_S)
                entry.guess_us = first or 0.0
                continue
            count = calls(entry.guess_us, self.method.cache)
            limit_s = max(LEAST_TURN_S, SLOWER * entry.guess_us * (count + 2) / 1e6)
            self._turn(entry, plan, count, limit_s, keep=True)
        if not warm_up:
            for entry in running:  # a round without one is a gap in its row of samples
                if len(entry.samples.times_us) <= self.rounds:
                    entry.samples.add(float("nan"), False, 0)
            self.rounds += 1

    def _turn(
        self, entry: Entry, plan: int, count: int, limit_s: float, *, keep: bool = False
    ) -> float | None:
        """One turn; what ends the process ends this variant, and a new process goes on."""
        if not entry.running:
            return None
        before = time.monotonic()
        try:
            assert self.lane is not None
            flush = self.method.cache == "flushed"
            told = self.lane.turn(entry.number, plan, count, flush, limit_s)
        except Gone as gone:
            entry.reason = f"Its run failed: {gone}."
            self._again(entry)
            self._aside_s += time.monotonic() - before
            return None
        if told.wrong:
            entry.wrong = told.wrong
        elif keep:
            entry.samples.add(told.us, told.clean, count)
            entry.guess_us = min(entry.guess_us or told.us, told.us)
        return told.us

    def _again(self, culprit: Entry) -> None:
        """A new process for the others.  Raises DeviceLost."""
        self.lane = None
        if not self._running():
            return
        try:
            self.lane = self.track.open()
            self._load()
        except Gone as gone:
            self.lane = None
            why = culprit.reason.removeprefix("Its run failed: ").rstrip(".")
            culprit.reason = ""
            raise DeviceLost(f"{why}, and then {gone}") from None

    def _load(self) -> None:
        """Load everyone who runs; one that can't be loaded is out.  Raises DeviceLost, Gone."""
        for entry in self._running():
            assert self.lane is not None
            try:
                self.track.load(self.lane, entry.number)
            except Gone as gone:
                entry.reason = f"It can't be loaded on the device: {gone}."
                self._again(entry)
                return

    def _running(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.running]

    # What it comes to

    def _tell(self, *, now: bool = False) -> None:
        if now or time.monotonic() - self._shown_s > SHOW_S:
            self._shown_s = time.monotonic()
            self.show(self.heat(final=False))

    def heat(self, *, final: bool) -> Heat:
        """The heat as far as it has come; verdicts are given at the end only."""
        rows = tuple(self._row(entry, final) for entry in self.entries)
        measured = {row.variant for row in rows if row.status == "measured"}
        rounds = {e.name: e.samples.rounds() for e in self.entries if e.name in measured}
        found = verdicts(rounds) if final else ()
        return Heat(
            function=self.material.name, place=self.place, rows=rows, verdicts=found,
            winner=winner(list(rounds), found), lost=self.lost, final=final,
        )  # fmt: skip

    def _row(self, entry: Entry, final: bool) -> Row:
        samples = entry.samples.counted()
        check = self.material.check(entry.wrong, len(samples))
        row = Row(
            variant=entry.name, status="not_measured", reason=entry.reason, check=check,
            bound_us=None if self.bound is None else self.bound.bound_us,
        )  # fmt: skip
        if entry.wrong:
            reason = f"Its result is wrong, so its time means nothing: {entry.wrong}"
            return msgspec.structs.replace(row, reason=reason)
        if entry.reason or not len(samples):
            return row if entry.reason else msgspec.structs.replace(row, reason="Not run yet.")
        found = median_interval(samples, resamples=RESAMPLES if final else QUICK)
        fault = impossible(found.mid, self.bound, self.method.cache, self.l2_bytes)
        if fault:
            return msgspec.structs.replace(row, reason=fault)
        rates: dict[str, Any] = {}
        if self.work is not None and found.mid > 0:
            moved = self.work.read_bytes + self.work.written_bytes
            rates = {"gflops": self.work.flops / found.mid / 1e3, "gbs": moved / found.mid / 1e3}
        if self.bound is not None:
            rates["bound_share"] = self.bound.bound_us / found.mid
        return msgspec.structs.replace(
            row, status="measured", median_us=found.mid, low_us=found.low, high_us=found.high,
            spread=spread(samples), runs=entry.samples.calls, rounds=len(samples),
            set_aside=entry.samples.set_aside(), **rates,
            samples_us=tuple(float(each) for each in samples) if final else (),
        )  # fmt: skip
