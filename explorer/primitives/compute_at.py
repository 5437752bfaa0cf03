"""compute_at: a producer moves under a loop of its consumer."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field
from explorer.primitives.moving import FORM, MENU, offers_under
from explorer.primitives.scope import Scope


class ComputeAt(Step, frozen=True, tag="compute_at"):
    """Move a block under a loop of its consumers, computing there just what they need.

    Before:
        for i, j in T.grid(128, 128): [block B]
        for i, j in T.grid(128, 128): [block C reads B]
    After `sch.compute_at(B, i)`:
        for i in range(128):
            for ax0 in range(128): [block B]
            for j in range(128): [block C reads B]
    """

    MENU: ClassVar[str] = MENU
    form: ClassVar[tuple[Field, ...]] = FORM

    block: BlockRef
    loop: LoopRef
    preserve_unit_loops: bool = False
    index: int = -1

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """One per loop that all its consumers are under, innermost first."""
        if not isinstance(node, Block) or node.is_root:
            return []
        scope = Scope(function)
        others = scope.consumers(node)
        if not others:
            return []
        if scope.is_output(node):
            why = f"{node.name} writes an argument of {function.name}: it can't follow a reader."
            return [Offer(op="compute_at", label="Compute at", group=cls.MENU, refusal=why)]
        why = f"No loop holds all that read it without holding {node.name} too."
        return offers_under(cls, cls.op(), scope, node, others, "Compute at", key="a", why_none=why)
