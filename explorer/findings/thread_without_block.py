"""What it is: a kernel binds threadIdx and no blockIdx, so it is a single block.

Why it matters: it is legal, but one block runs on one SM; the other SMs of the GPU do nothing.

What to try: split the loop and bind the outer part to blockIdx.x, or bind another spatial loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "thread_without_block"
TITLE = "threadIdx without blockIdx: one SM is used"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel without a blockIdx axis."""
    from explorer.analysis.peaks import gpu

    card = gpu(ctx.target.tag)
    of = f" of {card.sms}" if card else ""
    for function in ctx.device_functions():
        for region in ctx.regions(function):
            axes = region.axes()
            if axes and not any(axis.startswith("blockIdx") for axis in axes):
                yield finding(
                    CODE, "warning", function, region.root,
                    f"Only {', '.join(sorted(axes))} is bound: the kernel is 1 block and keeps"
                    f" 1{of} SMs busy.",
                    f"Split {region.root.name} and bind its outer part to blockIdx.x.",
                )  # fmt: skip
