"""What it is: no loop of the function is bound, so TVM makes host code of all of it.

Why it matters: TVM 0.27 builds such a module for CUDA without an error and without a kernel; run,
the host would read and write pointers into GPU memory.

What to try: bind a spatial loop to blockIdx.x or threadIdx.x, or apply DefaultGPUSchedule or
dlight.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context
from explorer.model.result import Finding

CODE = "no_kernel"
TITLE = "The function has no kernel"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per loop nest of a function that launches nothing."""
    from explorer.engine.unbound import no_kernel, nothing_to_do

    for function in ctx.device_functions():
        launched = ctx.kernels_of(function.name) or ctx.regions(function)
        if not launched and not nothing_to_do(function):
            yield from no_kernel(function).findings
