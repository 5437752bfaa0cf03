"""What it is: some blocks of the function are in kernels and others are left on the host.

Why it matters: the host part would dereference pointers into GPU memory, and TVM says nothing.

What to try: bind a loop of each block that is named, or move the block into a kernel with
compute_at.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context
from explorer.model.result import Finding

CODE = "partly_on_host"
TITLE = "A part of the function runs on the host"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per loop nest on the host, beside kernels of the same function."""
    from explorer.analysis.nests import on_host
    from explorer.engine.unbound import partly_on_host

    for function in ctx.device_functions():
        if ctx.kernels_of(function.name):
            touched = ctx.touched.get(function.name, ())
            if touched:
                yield from partly_on_host(function, touched).findings
        elif ctx.regions(function) and on_host(function):
            yield from partly_on_host(function, ()).findings
