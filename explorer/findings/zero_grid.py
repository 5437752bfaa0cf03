"""What it is: with the sizes given, an axis of the launch has extent 0.

Why it matters: CUDA refuses a launch of 0 blocks or threads as an invalid configuration. Nothing
had to be computed, but the call fails. A fixed grid with a loop inside has no such problem.

What to try: return early for empty inputs, or use DefaultGPUSchedule, whose grid is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "zero_grid"
TITLE = "A launch with 0 blocks"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel with an empty grid or block, or that would have one for size 0."""
    for launch in launches(ctx):
        axes = [f"blockIdx.{a}" for a, n in zip("xyz", launch.grid, strict=True) if n == 0]
        axes += [f"threadIdx.{a}" for a, n in zip("xyz", launch.block, strict=True) if n == 0]
        if axes:
            yield finding(
                CODE, "error", launch.function, launch.node,
                f"{' and '.join(axes)} {'has' if len(axes) == 1 else 'have'} extent 0"
                f"{ctx.assuming(launch.function)}: CUDA refuses such a launch.",
                "Return early when a size is 0, or use a schedule with a fixed grid.",
                where=launch.where,
            )  # fmt: skip
