"""The launches of a module for checks of limits: from the lowered kernels, else from the nest.

A module that TVM can't lower still has its launch checked: the reason may be here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.analysis.kernel import Extents, Kernel, product
from explorer.analysis.nests import Region
from explorer.findings.base import Context, words
from explorer.model.nest import Function, Node


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Grid and block of one kernel; `region` is its place in the nest where that is known."""

    function: Function
    grid: Extents
    block: Extents
    region: Region | None
    kernel: Kernel | None

    @property
    def threads(self) -> int | None:
        """Threads a block; None when a size is missing."""
        return product(self.block)

    @property
    def node(self) -> Node | str:
        """The nest node of the kernel, or its name."""
        return self.region.root if self.region else self.name

    @property
    def name(self) -> str:
        """The kernel's name, else the function's."""
        return self.kernel.name if self.kernel else self.function.name

    @property
    def where(self) -> str:
        """The kernel in words."""
        if self.kernel is None:
            return words(self.region.root) if self.region else self.name
        return f"kernel {self.name}"


def launches(ctx: Context) -> Iterator[Launch]:
    """Every launch of every function that is expected on the GPU."""
    for function in ctx.device_functions():
        places = ctx.regions(function)
        kernels = ctx.kernels_of(function.name)
        if kernels:
            matched = len(places) == len(kernels)
            for n, kernel in enumerate(kernels):
                yield Launch(
                    function=function,
                    grid=kernel.grid,
                    block=kernel.block,
                    region=places[n] if matched else None,
                    kernel=kernel,
                )
        else:
            for region in places:
                yield Launch(
                    function=function,
                    grid=_sizes(ctx, region, "blockIdx"),
                    block=_sizes(ctx, region, "threadIdx"),
                    region=region,
                    kernel=None,
                )


def _sizes(ctx: Context, region: Region, axis: str) -> Extents:
    axes = region.axes()
    x, y, z = (ctx.extent(loops[0]) if (loops := axes.get(f"{axis}.{a}")) else 1 for a in "xyz")
    return x, y, z
