"""Figures faster than the hardware are faults, not records."""

from __future__ import annotations

import pytest

from explorer.analysis.peaks import gpu
from explorer.analysis.roofline import roofline
from explorer.model.analysis import Work
from explorer.race.bound import bound_of, impossible


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
    line = roofline(Work(flops=flops, read_bytes=moved, written_bytes=0), card)
    bound = bound_of(line, cache, l2)
    why = impossible(share * line.bound_us, bound)
    assert bool(why) is rejected
    if rejected:
        assert "geforce-rtx-4090" in why


def test_no_time_at_all_is_a_fault_without_any_bound() -> None:
    assert "no time" in impossible(0.0, None)
    assert impossible(1e-3, None) == ""


@pytest.mark.parametrize(
    ("quiet", "share", "rejected"), [(True, 0.55, False), (True, 0.45, True), (False, 0.45, False)]
)
def test_a_measured_peak_is_no_hard_limit(quiet: bool, share: float, rejected: bool) -> None:
    card = gpu("nvidia/geforce-rtx-4090")
    assert card is not None
    line = roofline(Work(flops=1e12, read_bytes=8, written_bytes=0), card)
    bound = bound_of(line, "warm", None, measured=True, quiet=quiet, one_core_gflops=7.0)
    assert bound.roof.measured
    assert bound.roof.one_core_gflops == 7.0
    why = impossible(share * bound.us, bound)
    assert bool(why) is rejected
    if rejected:
        assert "2 times faster is let through" in why


def test_the_bound_of_a_warm_race_leaves_memory_out_where_the_cache_may_hold_it() -> None:
    card = gpu("nvidia/geforce-rtx-4090")
    assert card is not None
    line = roofline(Work(flops=1e6, read_bytes=10**7, written_bytes=0), card)
    warm, cold = bound_of(line, "warm", 72 << 20), bound_of(line, "flushed", 72 << 20)
    assert (warm.us, cold.us) == (line.compute_us, line.memory_us)
    assert "arithmetic alone" in warm.roof.holds
    assert (warm.roof.cached, cold.roof.cached) == (True, False)
    assert cold.roof.holds == "arithmetic and memory"
