"""What it is: several threads write the same element of memory that they share.

Why it matters: where a block's spatial loop is bound and its neighbour's in the same kernel is
not, every thread does all of the neighbour's work. Equal values waste time; values that differ,
or a sum that all threads add to, are a race.

What to try: bind the loop of the block that is named to the same axis as its neighbour's.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.nest import Block, Node
from explorer.model.result import Finding

CODE = "thread_overlap"
TITLE = "Threads write the same element"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per store that several threads repeat."""
    for launch in launches(ctx):
        for store in launch.kernel.duplicates if launch.kernel else ():
            node: Node | str = launch.node
            if launch.region:
                node = next(
                    (b for b in launch.region.blocks()
                     if any(write.buffer == store.buffer for write in b.writes)),
                    node,
                )  # fmt: skip
            if store.accumulates:
                why = "and each adds to it: a race"
            elif store.same_value:
                why = "with the same value: all of them do the same work"
            else:
                why = "and the last one wins: a race unless the values are equal"
            name = f"block {node.name}" if isinstance(node, Block) else launch.where
            who = "Threads of several blocks" if store.between_blocks else (
                f"{store.threads} threads"
            )  # fmt: skip
            axes = f" ({', '.join(store.axes)} not used in the index)" if store.axes else ""
            yield finding(
                CODE, "error" if store.accumulates else "warning", launch.function, node,
                f"{who} write the same element of {store.buffer}{axes}, {why}.",
                f"Bind the loops of {name} like those of its neighbours in the kernel.",
                where=f"{name}, {store.buffer}[{store.index}]",
            )  # fmt: skip
