"""Which of two variants is faster, or that no difference was seen.  Noise never makes a ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from explorer.model.race import Outcome, Verdict
from explorer.race.interval import RESAMPLES, Floats, Interval, median_interval

LEVEL = 0.99
"""Of the ratio's interval: several pairs are looked at, and a wrong ranking is the worst fault."""
LEAST_EFFECT = 0.02
"""A difference that may be smaller than this is not called one: where code and data come to lie
in memory makes as much, for one and the same kernel."""
LEAST_ROUNDS = 10
"""With fewer common rounds nothing is decided."""


def log_ratio(own: Floats, other: Floats, resamples: int = RESAMPLES) -> Interval | None:
    """The log of time of `other` over time of `own`, from pairs of one round; None without pairs.

    The arrays have one entry a round, NaN where there is none.  What slows a whole round down
    cancels out.
    """
    both = np.isfinite(own) & np.isfinite(other)
    if not both.any():
        return None
    return median_interval(np.log(other[both] / own[both]), LEVEL, resamples)


def judge(name: str, other_name: str, own: Floats, other: Floats) -> Verdict:
    """The verdict on variant `name` against `other_name`, from their rounds."""
    rounds = int((np.isfinite(own) & np.isfinite(other)).sum())
    found = log_ratio(own, other)
    if found is None or rounds < LEAST_ROUNDS:
        ratio = 1.0 if found is None else math.exp(found.mid)
        words = f"not decided: {rounds} common round{'s' * (rounds != 1)}"
        words += f", {LEAST_ROUNDS} are needed"
        return _verdict(name, other_name, "undecided", ratio, ratio, ratio, words)
    ratio, low, high = (math.exp(each) for each in (found.mid, found.low, found.high))
    least = math.log1p(LEAST_EFFECT)
    outcome: Outcome = "no_difference"
    if found.low > least:
        outcome, words = "faster", f"{_times(ratio, low, high)} faster"
    elif found.high < -least:
        outcome, words = "slower", f"{_times(1 / ratio, 1 / high, 1 / low)} slower"
    else:
        most = max(abs(high - 1), abs(low - 1))
        words = f"no difference seen (±{100 * most:.1f} %)"
    return _verdict(name, other_name, outcome, ratio, low, high, words)


def verdicts(rounds: Mapping[str, Floats]) -> tuple[Verdict, ...]:
    """Every pair of variants once, the first named first."""
    names = list(rounds)
    return tuple(
        judge(name, other, rounds[name], rounds[other])
        for at, name in enumerate(names)
        for other in names[at + 1 :]
    )


def winner(names: Sequence[str], found: Sequence[Verdict]) -> str:
    """The one that a verdict calls faster than each other one, or ""."""
    better = {(v.variant, v.other) for v in found if v.outcome == "faster"}
    better |= {(v.other, v.variant) for v in found if v.outcome == "slower"}
    for name in names:
        others = [other for other in names if other != name]
        if others and all((name, other) in better for other in others):
            return name
    return ""


def _times(ratio: float, low: float, high: float) -> str:
    error = max(high - ratio, ratio - low)
    if error > ratio / 4:  # how much is hardly known, only that it is so
        return f"between {low:.2g}× and {high:.2g}×"
    return f"{ratio:.2f}× ± {error:.2f}"


def _verdict(
    name: str, other: str, outcome: Outcome, ratio: float, low: float, high: float, words: str
) -> Verdict:
    return Verdict(
        variant=name, other=other, outcome=outcome, ratio=ratio, low=low, high=high, words=words
    )
