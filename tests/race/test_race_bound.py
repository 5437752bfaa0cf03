"""Figures faster than the hardware are faults, not records."""

from __future__ import annotations

import pytest

from explorer.analysis.peaks import gpu
from explorer.analysis.roofline import roofline
from explorer.model.analysis import Work
from explorer.race.bound import impossible


@pytest.mark.parametrize(
    ("flops", "moved", "share", "cache", "l2", "rejected"),
    [
        (1e6, 10**9, 0.5, "flushed", None, True),
        (1e6, 10**9, 0.95, "flushed", None, False),  # the card clocks a little higher
        (1e6, 10**9, 0.5, "warm", 72 << 20, True),  # far more than the cache holds
        (1e6, 10**7, 0.5, "warm", 72 << 20, False),  # it may all come from the cache
        (1e12, 10**6, 0.5, "warm", None, True),  # arithmetic has no cache
    ],
)
def test_what_counts_as_too_fast(
    flops: float, moved: int, share: float, cache: str, l2: int | None, rejected: bool
) -> None:
    card = gpu("nvidia/geforce-rtx-4090")
    assert card is not None
    bound = roofline(Work(flops=flops, read_bytes=moved, written_bytes=0), card)
    why = impossible(share * bound.bound_us, bound, cache, l2)
    assert bool(why) is rejected
    if rejected:
        assert "geforce-rtx-4090" in why


def test_no_time_at_all_is_a_fault_without_any_bound() -> None:
    assert "no time" in impossible(0.0, None, "warm", None)
    assert impossible(1e-3, None, "warm", None) == ""
