"""What it is: a loop that is not bound stands around a bound one, so the host launches the kernel
once per iteration.

Why it matters: the result is right, but every launch costs some microseconds, and each one may be
too small to fill the GPU.

What to try: bind the outer loop to a free blockIdx axis, fuse it with the bound loop, or reorder
it inside.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context
from explorer.model.result import Finding

CODE = "host_loop_launch"
TITLE = "A kernel is launched inside a host loop"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per host loop around a launch."""
    from explorer.engine.unbound import host_loops

    for function in ctx.device_functions():
        loops = ctx.host_loops.get(function.name, ())
        if loops and ctx.kernels_of(function.name):
            yield from host_loops(function, loops).findings
