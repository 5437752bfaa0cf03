"""What it is: a block accumulates over a reduction axis without T.init.

Why it matters: the sum starts from whatever is in memory. TVM does not take the block for a
reduction, so loops can't be bound, rfactor and cross-thread reduction don't apply; the message
doesn't say why.

What to try: put the start value into `with T.init():`, and drop a separate block that sets it. A
block that follows decompose_reduction has its own init block and is fine.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "missing_init"
TITLE = "An accumulation without T.init"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block that accumulates and has no start value."""
    for function, block, fact in ctx.blocks():
        if fact.has_init or not fact.reduction:
            continue
        started = {
            store.target.identity
            for _, _, other in ctx.blocks()
            if other.ref.func == function.name and other.ref != fact.ref
            for store in other.stores
            if not store.own
        }
        for store in fact.stores:
            own = any(load.index == store.target.index for load in store.own)
            if not own:
                continue
            name = store.target.buffer
            if store.target.identity in started:
                continue
            yield finding(
                CODE, "error" if name not in _arguments(function) else "warning", function, block,
                f"Block {block.name} accumulates into {name} over"
                f" {', '.join(sorted(fact.reduction))} without T.init: the sum starts from what is"
                " in memory, and TVM can't bind its loops.",
                f"Add `with T.init(): {name}[{', '.join(store.target.index)}] = …`.",
            )  # fmt: skip
            break


def _arguments(function: object) -> set[str]:
    return {buffer.name for buffer in getattr(function, "buffers", ()) if buffer.param}
