"""What it is: the loops around a block run fewer times than its iterators have values.

Why it matters: some elements of the output are never computed. It happens when a fused extent
overflowed, when a loop was bound twice, or in a module written by hand.

What to try: undo the step that changed these loops; keep int64 where a product is over 2^31.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.extents import evaluate
from explorer.analysis.nests import is_thread_axis, path
from explorer.findings.base import Context, finding
from explorer.model.nest import Block, Loop
from explorer.model.result import Finding

CODE = "not_covered"
TITLE = "Loops that do not cover the block's domain"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block that writes an argument and is not covered."""
    for function, block, fact in ctx.blocks():
        arguments = {buffer.name for buffer in function.buffers if buffer.param}
        outer = [n for n in path(function, block) if isinstance(n, Block) and not n.is_root]
        if outer or not arguments & {store.target.buffer for store in fact.stores}:
            continue
        axes: dict[str, int | None] = {}
        for node in path(function, block):
            if isinstance(node, Loop):
                # The same axis twice gives one set of threads, not two.
                name = str(node.binding) if is_thread_axis(node.binding) else node.id
                axes[name] = ctx.extent(node)
        domain = [evaluate(item.extent, ctx.sizes) for item in block.iters]
        runs, points = 1, 1
        for extent in axes.values():
            runs *= 0 if extent is None else max(extent, 0)
        for extent in domain:
            points *= extent or 0
        if runs < points and None not in axes.values():
            yield finding(
                CODE, "error", function, block,
                f"The loops around block {block.name} run {runs} times, but it has {points} points"
                f"{ctx.assuming(function)}: some are never computed.",
                "Undo the step that changed these loops.",
            )  # fmt: skip
