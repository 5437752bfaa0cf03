"""What it is: a reduction loop is bound to threadIdx, but its block has no T.init.

Why it matters: TVM makes a cross-thread reduction from the init value and the update. Without it
the threads all add into the same element at once: a race.

What to try: give the block a T.init, and bind before decompose_reduction, not after.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import loops_on_path
from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "reduction_no_init"
TITLE = "A reduction over threads without T.init"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per bound reduction loop of a block without init."""
    for function, block, fact in ctx.blocks():
        accumulates = any(store.own for store in fact.stores)
        if fact.has_init or not accumulates:
            continue
        for loop in loops_on_path(function, block):
            threads = (loop.binding or "").startswith("threadIdx")
            if threads and loop.kind == "reduction" and ctx.extent(loop) != 1:
                yield finding(
                    CODE, "error", function, loop,
                    f"Reduction loop {loop.name} ({loop.extent}) of block {block.name} is bound to"
                    f" {loop.binding} and the block has no T.init: all threads add into one element"
                    " at once.",
                    "Give the block a T.init; bind before decompose_reduction.",
                )  # fmt: skip
