"""What it is: an SM can hold few warps of this kernel at a time, because of its threads, its
blocks or its shared memory. Registers are counted once the kernel is compiled (see the analysis
of a kernel).

Why it matters: an SM hides the wait for memory by running other warps. With few of them it waits.
Kernels with much independent work per thread do well at low occupancy.

What to try: the step that is named: less shared memory, or another block size.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.occupancy import occupancy
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "low_occupancy"
TITLE = "Few warps fit on an SM"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel: the occupancy, its limiter and the next cliff."""
    for launch in launches(ctx):
        kernel = launch.kernel
        threads = kernel.threads if kernel else None
        if not kernel or not threads or threads > ctx.target.max_threads_per_block:
            continue
        shared = kernel.shared_bytes + (kernel.dynamic_shared_bytes or 0)
        result = occupancy(ctx.limits, threads, None, shared)
        if not result.blocks_per_sm:
            continue
        percent = round(100 * result.fraction)
        cliff = result.better
        hint = (
            f" {cliff.at} bytes of shared memory would fit {cliff.blocks} blocks." if cliff else ""
        )
        yield finding(
            CODE, "warning" if percent < 33 else "info", launch.function, launch.node,
            f"At most {percent} % occupancy on {ctx.target.arch}: {result.blocks_per_sm} blocks,"
            f" {result.warps_per_sm} of {result.max_warps} warps an SM, limited by"
            f" {' and '.join(result.limiters)} (registers not counted).{hint}",
            "Use less shared memory or another block size." if percent < 33 else "",
            where=launch.where,
        )  # fmt: skip
