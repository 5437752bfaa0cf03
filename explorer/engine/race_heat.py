"""One function on one device: rounds until enough is known, and what they came to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from explorer.engine.race_lane import Gone, Lane
from explorer.engine.race_line import NotLoaded
from explorer.engine.race_material import PLANS, Material
from explorer.model.analysis import Work
from explorer.model.race import Heat, Method, Provenance, Row
from explorer.model.result import NOT_CHECKED
from explorer.race.bound import Bound, impossible
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
class Track:
    """A process for some of the entries, and how to get at it again once it is gone."""

    open: Callable[[], Lane]
    load: Callable[[Lane, int], None]
    """Make a variant ready there.  Raises Gone, NotLoaded."""
    lane: Lane | None = None


@dataclass
class Entry:
    """A variant in this heat: what it ran, and why it stopped, if it did.

    `library` names the library that a baseline calls, "" for a variant.
    """

    number: int
    name: str
    track: Track
    library: str = ""
    samples: Samples = field(default_factory=Samples)
    guess_us: float = 0.0
    loaded: bool = False
    reason: str = ""
    wrong: str = ""

    @property
    def running(self) -> bool:
        """It still takes part."""
        return not self.reason and not self.wrong


@dataclass(frozen=True)
class Known:
    """What is known of the work without running it."""

    work: Work | None = None
    bound: Bound | None = None


class DeviceLost(Exception):
    """The device does not come back; the message is a sentence."""


class HeatRun:
    """Runs the variants of one function on one device.

    `show` gets every intermediate heat; `known` is asked once the first figure has been shown.
    """

    def __init__(
        self, material: Material, entries: list[Entry], method: Method, place: Provenance,
        show: Callable[[Heat], None], known: Callable[[], Known] = Known,
    ) -> None:  # fmt: skip
        self.material, self.entries = material, entries
        self.method, self.place = method, place
        self.show, self._find_known = show, known
        self.known = Known()
        self.lost = ""
        self.rounds = 0
        self._shown_s = 0.0
        self._aside_s = 0.0
        """Spent on the reference and on what broke down, which is not timing."""

    def run(self) -> Heat:
        """All rounds.  Raises Gone when a track of variants can't even be opened."""
        try:
            for entry in self.entries:
                self._first_look(entry)
            self._race()
        except DeviceLost as lost:
            self.lost = str(lost)
            for entry in self.entries:
                if entry.running:
                    entry.reason = f"The device was lost: {self.lost}."
        finally:
            for entry in self.entries:
                if entry.track.lane is not None:
                    entry.track.lane.close()
                    entry.track.lane = None
        return self.heat(final=True)

    def _first_look(self, entry: Entry) -> None:
        """Load it and call it once: this warms up, and shows a figure before the next is built."""
        if not entry.running:
            return
        track = entry.track
        if track.lane is None:
            try:
                track.lane = track.open()
            except Gone as gone:
                if not entry.library:
                    raise
                entry.reason = f"It can't be used: {gone}."
                return
        if entry.library:
            entry.library = track.lane.device  # with its version
        self._load(entry)
        if entry.running:
            entry.guess_us = self._turn(entry, 0, 1, FIRST_TURN_S) or 0.0
            self._tell(now=True)

    def _race(self) -> None:
        started = time.monotonic()
        self.known = self._find_known()
        for plan in range(1, len(PLANS)):
            self.material.fill(plan)
        self._aside_s += time.monotonic() - started
        for plan in range(1, len(PLANS)):
            self._round(plan)
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

    def _round(self, plan: int) -> None:
        """A turn for everyone who still runs, in an order of its own."""
        running = self._running()
        for at in order(len(running), self.rounds, self.method.seed):
            entry = running[at]
            count = calls(entry.guess_us, self.method.cache)
            limit_s = max(LEAST_TURN_S, SLOWER * entry.guess_us * (count + 2) / 1e6)
            self._turn(entry, plan, count, limit_s, keep=True)
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
            assert entry.track.lane is not None
            flush = self.method.cache == "flushed"
            told = entry.track.lane.turn(entry.number, plan, count, flush, limit_s)
        except Gone as gone:
            entry.reason = f"Its run failed: {gone}."
            self._again(entry)
            self._aside_s += time.monotonic() - before
            return None
        if told.wrong and not self.material.weighed:
            self.material.weigh()
            self._aside_s += time.monotonic() - before
            return self._turn(entry, plan, count, limit_s, keep=keep)
        if told.wrong:
            entry.wrong = told.wrong
        elif keep:
            entry.samples.add(told.us, told.clean, count)
            entry.guess_us = min(entry.guess_us or told.us, told.us)
        return told.us

    def _again(self, culprit: Entry) -> None:
        """A new process for the others of its track.  Raises DeviceLost."""
        track = culprit.track
        track.lane = None
        left = [e for e in self.entries if e.track is track and e.running and e.loaded]
        waiting = any(e.track is track and e.running and not e.loaded for e in self.entries)
        if not left and not waiting:
            return
        try:
            track.lane = track.open()
        except Gone as gone:
            track.lane = None
            why = culprit.reason.removeprefix("Its run failed: ").rstrip(".")
            culprit.reason = ""
            raise DeviceLost(f"{why}, and then {gone}") from None
        for entry in left:
            if not self._load(entry):
                return  # which has loaded the others, too

    def _load(self, entry: Entry) -> bool:
        """Make it ready on its track; one that can't be is out.  Raises DeviceLost.

        False when the process did not survive that.
        """
        assert entry.track.lane is not None
        try:
            entry.track.load(entry.track.lane, entry.number)
            entry.loaded = True
        except NotLoaded as why:
            entry.reason = str(why)
        except Gone as gone:
            entry.reason = f"It can't be loaded on the device: {gone}."
            self._again(entry)
            return False
        return True

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
        variants = [e.name for e in self.entries if e.name in measured and not e.library]
        bound = self.known.bound
        return Heat(
            function=self.material.name, place=self.place, rows=rows, verdicts=found,
            winner=winner(variants, found), lost=self.lost, final=final,
            roof=None if bound is None else bound.roof,
        )  # fmt: skip

    def _row(self, entry: Entry, final: bool) -> Row:
        samples = entry.samples.counted()
        ran = len(samples) > 0 or entry.wrong
        check = self.material.check(entry.wrong, len(samples)) if ran else NOT_CHECKED
        work, bound = self.known.work, self.known.bound
        row = Row(
            variant=entry.name, library=entry.library, status="not_measured", reason=entry.reason,
            check=check, bound_us=None if bound is None else bound.us or None,
        )  # fmt: skip
        if entry.wrong:
            reason = f"Its result is wrong, so its time means nothing: {entry.wrong}"
            return msgspec.structs.replace(row, reason=reason)
        if entry.reason:
            return row
        if not len(samples):
            if final or not entry.guess_us:
                return msgspec.structs.replace(row, reason="Not run yet.")
            return msgspec.structs.replace(row, status="measured", median_us=entry.guess_us, runs=1)
        found = median_interval(samples, resamples=RESAMPLES if final else QUICK)
        if fault := impossible(found.mid, bound):
            return msgspec.structs.replace(row, reason=fault)
        rates: dict[str, Any] = {}
        if work is not None and found.mid > 0:
            moved = work.read_bytes + work.written_bytes
            rates = {"gflops": work.flops / found.mid / 1e3, "gbs": moved / found.mid / 1e3}
        # Beyond a peak that was only measured a share says nothing of the variant.
        if (
            bound is not None
            and bound.us > 0
            and not (bound.roof.measured and bound.us > found.mid)
        ):
            rates["bound_share"] = bound.us / found.mid
        return msgspec.structs.replace(
            row, status="measured", median_us=found.mid, low_us=found.low, high_us=found.high,
            spread=spread(samples), runs=entry.samples.calls, rounds=len(samples),
            set_aside=entry.samples.set_aside(), **rates,
            samples_us=tuple(float(each) for each in samples) if final else (),
        )  # fmt: skip
