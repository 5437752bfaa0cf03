"""What it is: a block declares no iterators (or only ones of extent 1); its loops are inside its
body.

Why it matters: TVM can't see which iterations are independent, so the loops can't be bound.
Automatic schedules wrap it into one thread or leave it on the host.

What to try: write one block per loop, with the loop outside and T.axis.spatial for each index.
Where iterations really depend on each other (a scatter with repeated indices), it must stay
serial.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import below
from explorer.findings.base import Context, finding
from explorer.model.nest import Block, Loop
from explorer.model.result import Finding

CODE = "opaque_block"
TITLE = "An opaque block can't be spread over threads"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block whose loops are all in its body."""
    for function in ctx.device_functions():
        for block in function.nodes:
            if not isinstance(block, Block) or any(item.extent != "1" for item in block.iters):
                continue
            inside = list(below(function, block))[1:]
            loops = [n for n in inside if isinstance(n, Loop)]
            if loops and not any(isinstance(n, Block) for n in inside):
                names = ", ".join(loop.name for loop in loops)
                yield finding(
                    CODE, "warning", function, block,
                    f"Block {block.name} is opaque: its loops {names} are inside its body, so"
                    " nothing can be bound and 1 thread runs them.",
                    "Put the loops outside, one block each, with T.axis.spatial for every index.",
                )  # fmt: skip
