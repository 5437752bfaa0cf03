"""Figures that can't be: faster than the hardware is."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.model.analysis import Roofline
from explorer.model.race import Roof

DATA_SHEET = 1 / 0.9
"""Cards clock a little higher than the data sheet's peak says."""
MEASURED, MEASURED_BUSY = 2.0, 10.0
"""A peak that was measured may have been measured at a bad moment, or surely was."""


@dataclass(frozen=True)
class Bound:
    """The least time of one call in a race, and the roof it is from."""

    us: float
    roof: Roof


def bound_of(
    line: Roofline, cache: str, cache_bytes: int | None, *, measured: bool = False,
    quiet: bool = True, one_core_gflops: float | None = None,
) -> Bound:  # fmt: skip
    """The part of a roofline that holds for the way the race is timed.

    Its memory part is about data that comes from device memory: with a warm cache that may hold all
    of it (`cache_bytes`, None when not known), only the arithmetic counts.
    """
    moved = line.work.read_bytes + line.work.written_bytes
    inside = cache == "warm" and (cache_bytes is None or moved <= 2 * cache_bytes)
    tolerance = (MEASURED if quiet else MEASURED_BUSY) if measured else DATA_SHEET
    part = "arithmetic alone: the data may stay in the warm cache" if inside else ""
    roof = Roof(
        device=line.gpu, peak_gflops=1000 * line.peak_tflops, peak_gbs=line.peak_gbs,
        source=line.source, measured=measured, tolerance=tolerance,
        one_core_gflops=one_core_gflops, holds=part or "arithmetic and memory",
        cached=inside,
    )  # fmt: skip
    return Bound(line.compute_us if inside else line.bound_us, roof)


def impossible(median_us: float, bound: Bound | None) -> str:
    """Why a figure is rejected, or ""."""
    if median_us <= 0:
        return "The clock saw no time pass: this figure is a fault of the measurement."
    if bound is None or median_us * bound.roof.tolerance >= bound.us:
        return ""
    about = (
        f", and {bound.roof.tolerance:g} times faster is let through" if bound.roof.measured else ""
    )
    return (
        f"{median_us:.3g} us is less than {bound.roof.device} needs for this work"
        f" ({bound.us:.3g} us by the roofline{about}): the kernel does not do all of it, or the"
        " measurement is at fault."
    )
