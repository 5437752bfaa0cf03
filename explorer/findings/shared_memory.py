"""What it is: a kernel needs more shared memory than a block may have: 48 KB when it is static,
the architecture's opt-in limit when it is dynamic; or an array has no bound at all, because its
size hangs on a symbolic extent.

Why it matters: TVM builds it. Static memory over 48 KB is refused by ptxas; an unbounded array
becomes `__shared__ float x[2147483647]`, and even nvcc takes that. The launch fails.

What to try: a smaller tile, a smaller type, or scope "shared.dyn" (which may use more than 48
KB). An unbounded array needs a tile of constant size.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.limits import GUIDE, STATIC_SHARED_BYTES
from explorer.findings.base import Context, finding
from explorer.findings.launches import Launch, launches
from explorer.model.result import Finding, Severity

CODE = "shared_memory"
TITLE = "More shared memory than a block may have"
UNBOUNDED = 2**30
"""No block of any GPU is near 1 GB: such a size is a symbolic one that was never bounded."""


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel over a limit."""
    for launch in launches(ctx):
        kernel = launch.kernel
        if kernel is None:
            continue
        huge = next((a for a in kernel.shared_arrays if a[2] >= UNBOUNDED), None)
        dynamic = kernel.dynamic_shared_bytes or 0
        total = kernel.shared_bytes + dynamic
        most = max(ctx.limits.shared_per_block_bytes, ctx.target.max_shared_memory_per_block)
        if huge:
            yield _found(
                launch, "error",
                f"Shared array {huge[0]} has no bound: {huge[2]} bytes, because its size hangs on a"
                " symbolic extent.",
                "Split the symbolic loop by a constant and compute the block at the inner tile.",
            )  # fmt: skip
        elif kernel.shared_bytes > STATIC_SHARED_BYTES:
            arrays = ", ".join(
                f"{name} {size}" for name, scope, size in kernel.shared_arrays
                if scope != "shared.dyn"
            )  # fmt: skip
            yield _found(
                launch, "error",
                f"{kernel.shared_bytes} bytes of static shared memory ({arrays}), but the limit is"
                f" {STATIC_SHARED_BYTES} ({GUIDE}): ptxas refuses the kernel.",
                "Use a smaller tile, or set the scope to shared.dyn"
                + (f" (up to {most} bytes on {ctx.target.arch})." if total <= most else "."),
            )  # fmt: skip
        elif total > most:
            yield _found(
                launch, "error",
                f"{total} bytes of shared memory a block, but {ctx.target.arch} allows {most}"
                f" ({GUIDE}): the launch fails.",
                "Use a smaller tile or fewer pipeline stages.",
            )  # fmt: skip
        elif dynamic and total > STATIC_SHARED_BYTES:
            yield _found(
                launch, "info",
                f"{total} bytes of shared memory a block, over the default {STATIC_SHARED_BYTES}:"
                " the launch must opt in (cudaFuncAttributeMaxDynamicSharedMemorySize); TVM's"
                " runtime does.",
                "",
            )  # fmt: skip


def _found(launch: Launch, severity: Severity, message: str, cure: str) -> Finding:
    return finding(
        CODE, severity, launch.function, launch.node, message, cure, where=launch.where
    )  # fmt: skip
