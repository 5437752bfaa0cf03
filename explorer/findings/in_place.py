"""What it is: a block writes the element it reads, with no reduction: A[i] = A[i] * 2.

Why it matters: TVM does not take it for a complete block, so its loops can't be bound and
automatic schedules fail. Timing it repeatedly changes its own input, and values may overflow.

What to try: write to a second buffer and let the caller swap them.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "in_place"
TITLE = "An in-place update"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block that updates an argument in place."""
    for function, block, fact in ctx.blocks():
        arguments = {buffer.name for buffer in function.buffers if buffer.param}
        for store in fact.stores:
            own = any(load.index == store.target.index for load in store.own)
            if own and not fact.reduction and not fact.has_init and block.iters:
                if store.target.buffer in arguments and len(fact.stores) == 1:
                    yield finding(
                        CODE, "warning", function, block,
                        f"Block {block.name} updates {store.target.buffer} in place: TVM binds no"
                        " loop of it, and each run changes the input of the next.",
                        "Write the result to another buffer.",
                    )  # fmt: skip
