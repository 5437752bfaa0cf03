"""What it is: a block reads an element of the buffer it writes that another iteration of a
spatial axis writes, as in B[vi] = A[vi] + B[vi - 1].

Why it matters: T.axis.spatial promises that iterations do not depend on each other. Bound to
threads, they run at the same time and in any order: a race. Serially the result is right.

What to try: leave the loop serial, mark the axis with T.axis.opaque, or use a parallel algorithm
(for a prefix sum: scan blocks, then add the block offsets).
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import bound, loops_on_path
from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "loop_carried"
TITLE = "A spatial axis whose iterations depend on each other"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block and buffer."""
    for function, block, fact in ctx.blocks():
        for store in fact.stores:
            for load in store.own:
                axes = set().union(*(
                    mine | theirs
                    for mine, theirs, a, b in zip(
                        store.target.iters, load.iters, store.target.index, load.index, strict=False
                    )
                    if a != b
                ))  # fmt: skip
                axes &= fact.spatial
                if axes:
                    runs = any(
                        bound(loop) and loop.kind != "reduction"
                        for loop in loops_on_path(function, block)
                    )
                    name = store.target.buffer
                    yield finding(
                        CODE, "error" if runs else "warning", function, block,
                        f"Block {block.name} writes {name}[{', '.join(store.target.index)}] and"
                        f" reads {name}[{', '.join(load.index)}]: iterations of the spatial axis"
                        f" {', '.join(sorted(axes))} depend on each other"
                        + (", and they run at the same time: a race." if runs else
                           ", so its loop must not be bound."),
                        "Keep that loop serial, or rewrite it as a scan.",
                    )  # fmt: skip
                    break
