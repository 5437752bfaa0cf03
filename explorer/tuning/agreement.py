"""How well one order agrees with another: Spearman's rank correlation."""

from __future__ import annotations

from collections.abc import Sequence

FEWEST = 5
"""With fewer pairs the figure would say nothing."""


def agreement(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """1: the same order, -1: the reverse, 0: none; None with fewer than FEWEST pairs or all equal.

    Equal values share the mean of their ranks.
    """
    if len(ones) < FEWEST:
        return None
    first, second = ranks(ones), ranks(others)
    mean = (len(ones) + 1) / 2
    both = sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    spread = sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second)
    return both / spread**0.5 if spread else None


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for each in order[at:end]:
            found[each] = (at + 1 + end) / 2
        at = end
    return found
