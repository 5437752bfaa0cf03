"""What compute_at and reverse_compute_at share: a block goes under a loop of its neighbours."""

from __future__ import annotations

from collections.abc import Callable

from explorer.model.nest import Block
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, FlagField, IntField, LoopField
from explorer.primitives.scope import Scope, common_loops

MENU = "Move the block"
FORM: tuple[Field, ...] = (
    BlockField("block", "Block"),
    LoopField("loop", "Under the loop"),
    FlagField("preserve_unit_loops", "Keep loops of extent 1"),
    IntField("index", "Place among the blocks there", "-1 is last, -2 first.", least=-2),
)


def offers_under(
    cls: Callable[[BlockRef, LoopRef], Step], op: str, scope: Scope, node: Block,
    others: list[Block], label: str, *, key: str, why_none: str,
) -> list[Offer]:  # fmt: skip
    """One offer per loop that holds all of `others` (not empty) but not `node`, innermost first.

    `key` is the innermost one's, `why_none` the refusal when there is no such loop.
    """
    loops = common_loops(scope, node, others)
    if not loops:
        return [Offer(op=op, label=label, group=MENU, refusal=why_none)]
    around = scope.loops_around(others[0])
    return [
        Offer(
            op=op,
            label=f"{label} {loop.name} of {others[0].name}",
            group=MENU,
            step=cls(node.ref, LoopRef(others[0].ref, around.index(loop), loop.name)),
            key=key if at == 0 else "",
        )
        for at, loop in enumerate(loops)
    ]
