"""What it is: a kernel is launched as one block of one thread.

Why it matters: one thread of thousands does all the work, one step after another. It happens
where no loop is data-parallel: a full reduction, or an opaque block.

What to try: for a reduction, split its loop and bind the inner part to threadIdx.x (a
cross-thread reduction), or use rfactor to make a spatial loop; a scatter must be rewritten to a
spatial block.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import Region
from explorer.findings.base import Context, finding
from explorer.model.nest import Loop, Node
from explorer.model.result import Finding

CODE = "single_thread"
TITLE = "One thread does all the work"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel whose axes all have extent 1."""
    for function in ctx.device_functions():
        for region in ctx.regions(function):
            sizes = [ctx.extent(loop) for loop in region.bound_loops()]
            steps = _steps(ctx, region)
            if sizes and all(size == 1 for size in sizes) and steps != 1:
                yield _found(ctx, region, steps)


def _found(ctx: Context, region: Region, steps: int | None) -> Finding:
    loops = [n for n in region.nodes() if isinstance(n, Loop) and ctx.extent(n) != 1]
    reduces = [loop for loop in loops if loop.kind == "reduction"]
    count = "all" if steps is None else f"{steps}"
    if loops and len(reduces) == len(loops):
        cure = (
            f"Split {reduces[-1].name} and bind its inner part to threadIdx.x (cross-thread"
            " reduction), or use rfactor."
        )
        why = "no data-parallel loop"
    else:
        opaque = any(isinstance(n, Loop) and n.inside_block for n in region.nodes())
        why = "its block is opaque" if opaque else "no loop with more than one step is bound"
        cure = (
            "Rewrite the block with T.axis.spatial axes, one block per loop, then bind them."
            if opaque
            else "Bind a spatial loop."
        )
    what = f"adds up {count} elements" if reduces and len(reduces) == len(loops) else (
        f"does {count} steps"
    )  # fmt: skip
    return finding(
        CODE, "warning", region.function, (reduces or loops or [region.root])[0],
        f"The launch is 1x1 ({why}): 1 thread {what} one after another.",
        cure,
    )  # fmt: skip


def _steps(ctx: Context, region: Region, node: Node | None = None) -> int | None:
    """How many times the innermost bodies run in all; None when a size is not known."""
    at = region.root if node is None else node
    total = 0
    for child in at.children:
        below = region.function.node(child)
        steps = None if below is None else _steps(ctx, region, below)
        if steps is None:
            return None
        total += steps
    extent = ctx.extent(at) if isinstance(at, Loop) else 1
    return None if extent is None else extent * max(total, 1)
