"""reverse_compute_at: a consumer moves under a loop of its producer."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field
from explorer.primitives.moving import FORM, MENU, offers_under
from explorer.primitives.scope import Scope


class ReverseComputeAt(Step, frozen=True, tag="reverse_compute_at"):
    """Move a block under a loop of its producers, using there what they have just computed.

    Before:
        for i, j in T.grid(128, 128): [block B]
        for i, j in T.grid(128, 128): [block C reads B]
    After `sch.reverse_compute_at(C, i)`:
        for i in range(128):
            for j in range(128): [block B]
            for ax0 in range(128): [block C reads B]
    """

    MENU: ClassVar[str] = MENU
    form: ClassVar[tuple[Field, ...]] = FORM

    block: BlockRef
    loop: LoopRef
    preserve_unit_loops: bool = False
    index: int = -1

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """One per loop that all its producers are under, innermost first."""
        if not isinstance(node, Block) or node.is_root:
            return []
        scope = Scope(function)
        others = scope.producers(node)
        if not others:
            return []
        why = f"No loop holds all that feed it without holding {node.name} too."
        return offers_under(
            cls, cls.op(), scope, node, others, "Follow its producer at", key="e", why_none=why
        )
