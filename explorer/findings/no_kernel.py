"""What it is: no loop of the function is bound, so TVM makes host code of all of it.

Why it matters: TVM 0.27 builds such a module for CUDA without an error and without a kernel; run,
the host would read and write pointers into GPU memory.

What to try: bind a spatial loop to blockIdx.x or threadIdx.x, or apply DefaultGPUSchedule or
dlight.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from explorer.findings.base import Context
from explorer.model.result import Finding

CODE = "no_kernel"
TITLE = "The function has no kernel"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per loop nest of a function that launches nothing."""
    from explorer.engine.unbound import no_kernel, nothing_to_do

    dependent = {
        block.id: fact.ref.name
        for _, block, fact in ctx.blocks()
        if not fact.has_init and any(store.own for store in fact.stores)
    }
    for function in ctx.device_functions():
        launched = ctx.kernels_of(function.name) or ctx.regions(function)
        if not launched and not nothing_to_do(function):
            for found in no_kernel(function).findings:
                inside = [name for at, name in dependent.items() if at.startswith(found.node + "/")]
                yield _not_bindable(found, inside[0]) if inside and found.node else found


def _not_bindable(found: Finding, block: str) -> Finding:
    """The finding without the cure of binding: TVM refuses it for a block that updates itself."""
    return msgspec.structs.replace(
        found,
        cure=f"Block {block} reads the buffer it writes and has no T.init, so TVM binds none of its"
        " loops: write to another buffer, or give the reduction a T.init.",
        cure_id="",
        cures=(),
    )
