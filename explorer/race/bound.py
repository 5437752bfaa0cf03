"""Figures that can't be: faster than the hardware is."""

from __future__ import annotations

from explorer.model.analysis import Roofline

SLACK = 0.9
"""Cards clock a little higher than the data sheet's peak says."""


def least_us(bound: Roofline, cache: str, l2_bytes: int | None) -> float:
    """The least time that a figure may show.

    The memory part of the bound holds for data that comes from device memory: with a warm cache
    that holds all of it, only the arithmetic counts.
    """
    moved = bound.work.read_bytes + bound.work.written_bytes
    if cache == "warm" and (l2_bytes is None or moved <= 2 * l2_bytes):
        return SLACK * bound.compute_us
    return SLACK * bound.bound_us


def impossible(median_us: float, bound: Roofline | None, cache: str, l2_bytes: int | None) -> str:
    """Why a figure is rejected, or ""."""
    if median_us <= 0:
        return "The clock saw no time pass: this figure is a fault of the measurement."
    if bound is None or median_us >= least_us(bound, cache, l2_bytes):
        return ""
    return (
        f"{median_us:.3g} us is less than {bound.gpu} needs for this work"
        f" ({bound.bound_us:.3g} us by the roofline): the kernel does not do all of it, or the"
        " measurement is at fault."
    )
