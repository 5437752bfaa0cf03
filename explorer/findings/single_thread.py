"""What it is: a kernel is launched as one block of one thread, or all its threads but one are
turned off by a guard.

Why it matters: one thread of thousands does all the work, one step after another. It happens
where no loop is data-parallel: a full reduction, or an opaque block.

What to try: for a reduction, split its loop and bind the inner part to threadIdx.x (a
cross-thread reduction), or use rfactor to make a spatial loop; a scatter must be rewritten to a
spatial block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from explorer.analysis.extents import evaluate
from explorer.analysis.guards import comparisons, names
from explorer.analysis.nests import Region
from explorer.findings.base import Context, finding
from explorer.model.nest import Block, Loop, Node
from explorer.model.result import Finding

CODE = "single_thread"
TITLE = "One thread does all the work"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel in which a single thread works."""
    for function in ctx.device_functions():
        for region in ctx.regions(function):
            if _launched(ctx, region) is None or not all(
                _alone(ctx, region, block) for block in region.blocks()
            ):
                continue
            steps = _steps(ctx, region)
            if steps != 1:
                yield _found(ctx, region, steps)


def _launched(ctx: Context, region: Region) -> int | None:
    """Threads of the launch, all blocks together; None when a size is not known."""
    extents = []
    for loops in region.axes().values():
        extent = ctx.extent(loops[0])
        if extent is None:
            return None
        extents.append(extent)
    return math.prod(extents)


def _alone(ctx: Context, region: Region, block: Block) -> bool:
    """One thread runs `block`: bound loops have one step, or a guard leaves only the first."""
    wide = {loop.name for loop in region.bound_loops() if ctx.extent(loop) != 1}
    held: set[str] = set()
    for value, limit in comparisons(block.predicate or ""):
        if evaluate(limit, ctx.sizes) == 1:
            held.update(names(value))
    return wide <= held


def _found(ctx: Context, region: Region, steps: int | None) -> Finding:
    threads = _launched(ctx, region)
    loops = [
        n
        for n in region.nodes()
        if isinstance(n, Loop) and ctx.extent(n) != 1 and n.mode != "bound"
    ]
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
    launch = "The launch is 1x1" if threads == 1 else f"A guard turns off {threads} threads but one"
    return finding(
        CODE, "warning", region.function, (reduces or loops or [region.root])[0],
        f"{launch} ({why}): 1 thread {what} one after another.",
        cure,
    )  # fmt: skip


def _steps(ctx: Context, region: Region, node: Node | None = None) -> int | None:
    """How many times the innermost bodies run in all; None when a size is not known.

    Where blocks reduce, the others (their initial values) don't count.
    """
    at = region.root if node is None else node
    computing = list(region.blocks())
    if at in computing and not _reduces(at) and any(map(_reduces, computing)):
        return 0
    total = 0
    for child in at.children:
        below = region.function.node(child)
        steps = None if below is None else _steps(ctx, region, below)
        if steps is None:
            return None
        total += steps
    extent = ctx.extent(at) if isinstance(at, Loop) and at.mode != "bound" else 1
    return None if extent is None else extent * (total if at.children else 1)


def _reduces(block: Node) -> bool:
    return isinstance(block, Block) and any(each.kind == "reduction" for each in block.iters)
