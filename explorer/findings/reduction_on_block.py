"""What it is: a reduction loop is bound to blockIdx.

Why it matters: blocks can't add into one element: each would overwrite the other's sum. TVM
refuses it in `bind`, but a module can be written or loaded that way.

What to try: bind the reduction to threadIdx.x (TVM makes a cross-thread reduction), or use
rfactor to give each block a partial result.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.nest import Loop
from explorer.model.result import Finding

CODE = "reduction_on_block"
TITLE = "A reduction is bound to blockIdx"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per reduction loop bound to a block axis."""
    for function in ctx.device_functions():
        for loop in function.nodes:
            if (
                isinstance(loop, Loop)
                and (loop.binding or "").startswith("blockIdx")
                and loop.kind in ("reduction", "mixed")
                and ctx.extent(loop) != 1
            ):
                yield finding(
                    CODE, "error", function, loop,
                    f"Reduction loop {loop.name} is bound to {loop.binding}: {loop.extent} blocks"
                    " write the same elements and overwrite each other's sum.",
                    f"Bind {loop.name} to threadIdx.x, or use rfactor.",
                )  # fmt: skip
