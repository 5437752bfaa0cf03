"""Rounds: who runs when, how long one turn is, and when enough is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.race.interval import QUICK, Floats, Interval, median_interval
from explorer.race.verdict import LEAST_ROUNDS, log_ratio

CLOSE = 0.01
"""The race ends when every interval is within ±1 %."""
TURN_US = 400.0
"""One variant's turn in a round, about: short enough to fall between interruptions."""
MOST_CALLS = 1000
MOST_ROUNDS = 2000
LEAST_CLEAN = 10
"""With so many undisturbed rounds the disturbed ones are set aside."""


@dataclass
class Samples:
    """What one variant has run so far: one entry a round, NaN where it took no part.

    `clean` is False where the system took the processor away meanwhile.
    """

    times_us: list[float] = field(default_factory=list)
    clean: list[bool] = field(default_factory=list)
    calls: int = 0

    def add(self, time_us: float, clean: bool, calls: int) -> None:
        """Note one round."""
        self.times_us.append(time_us)
        self.clean.append(clean)
        self.calls += calls

    def rounds(self) -> Floats:
        """The times that count, one entry a round; disturbed ones are NaN where enough are left."""
        times = np.array(self.times_us, np.float64)
        clean = np.array(self.clean, bool) & np.isfinite(times)
        return np.where(clean, times, np.nan) if int(clean.sum()) >= LEAST_CLEAN else times

    def counted(self) -> Floats:
        """The same without the gaps."""
        rounds = self.rounds()
        return rounds[np.isfinite(rounds)]

    def set_aside(self) -> int:
        """How many rounds do not count."""
        return int(np.isfinite(np.array(self.times_us, np.float64)).sum()) - len(self.counted())


def order(count: int, round_: int, seed: int) -> list[int]:
    """Who runs after whom in a round: another order each time, so that no place is favoured."""
    return [int(at) for at in np.random.default_rng((seed, round_)).permutation(count)]


def calls(time_us: float, cache: str) -> int:
    """Calls in a turn of a variant that takes about `time_us`; one when each needs a cold cache."""
    if cache == "flushed" or time_us <= 0:
        return 1
    return max(1, min(MOST_CALLS, round(TURN_US / time_us)))


def medians(samples: Mapping[str, Samples]) -> dict[str, Interval]:
    """The median of every variant that ran, from a quick look."""
    counted = {name: each.counted() for name, each in samples.items()}
    return {
        name: median_interval(times, resamples=QUICK)
        for name, times in counted.items()
        if len(times)
    }


def enough(samples: Mapping[str, Samples]) -> bool:
    """Every median, and every ratio to the fastest, is known within ±1 %."""
    found = medians(samples)
    if not found or min(len(samples[name].counted()) for name in found) < LEAST_ROUNDS:
        return False
    if any(each.half_width > CLOSE * each.mid for each in found.values()):
        return False
    best = min(found, key=lambda name: found[name].mid)
    ratios = (
        log_ratio(samples[best].rounds(), samples[name].rounds(), QUICK)
        for name in found
        if name != best
    )
    return all(ratio is not None and ratio.half_width <= CLOSE for ratio in ratios)
