"""What it is: a kernel binds blockIdx and no threadIdx, so each block is a single thread.

Why it matters: the hardware runs 32 lanes at a time; 31 of them do nothing, and 1/32 is the most
that such a kernel can reach.

What to try: split the loop (128 or 256 is a good inner size) and bind the inner part to
threadIdx.x.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "block_without_thread"
TITLE = "blockIdx without threadIdx: 1 of 32 lanes works"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel whose blocks have one thread and that has many blocks."""
    for function in ctx.device_functions():
        for region in ctx.regions(function):
            axes = region.axes()
            if any(axis.startswith("threadIdx") for axis in axes):
                continue
            if any(ctx.extent(loop) != 1 for loops in axes.values() for loop in loops):
                yield finding(
                    CODE, "warning", function, region.root,
                    f"Only {', '.join(sorted(axes))} is bound: each block is 1 thread, so 31 of the"
                    " 32 lanes of its warp are idle.",
                    f"Split {region.root.name} and bind its inner part to threadIdx.x.",
                )  # fmt: skip
