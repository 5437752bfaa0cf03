"""A median with an interval that heavy tails, outliers and neighbouring rounds don't fool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 400
QUICK = 100
"""Resamples for a look in between."""
FEW = 8
"""With fewer samples the interval is everything seen: a bootstrap of so few would be too narrow."""


@dataclass(frozen=True)
class Interval:
    """`mid` is the median; the true one lies between `low` and `high` at the level asked for."""

    mid: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The longer of both arms."""
        return max(self.high - self.mid, self.mid - self.low)


def median_interval(
    samples: Floats, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The median of `samples` with a block-bootstrap interval.

    Blocks of neighbours are drawn, not single samples: noise on a machine comes in stretches, and
    an interval that took them for independent would be too narrow.
    """
    mid = float(np.median(samples))
    count = len(samples)
    if count < FEW:
        return Interval(mid, float(samples.min()), float(samples.max()))
    length = max(1, round(count ** (1 / 3)))
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, count, (resamples, -(-count // length), 1))
    places = ((starts + np.arange(length)) % count).reshape(resamples, -1)[:, :count]
    medians = np.median(samples[places], axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mid, min(float(low), mid), max(float(high), mid))


def spread(samples: Floats) -> float:
    """The distance between the quartiles as a share of the median."""
    low, mid, high = np.quantile(samples, [0.25, 0.5, 0.75])
    return float((high - low) / mid) if mid else 0.0
