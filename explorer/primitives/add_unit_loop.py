"""add_unit_loop: a loop of one iteration around a block or loop."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Loop, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, NodeField


class AddUnitLoop(Step, frozen=True, tag="add_unit_loop"):
    """Put a loop of one iteration around a block or loop, e.g. to have something to bind.

    Before:
        with T.sblock("C"):
    After `u = sch.add_unit_loop(C)`:
        for u in range(1):
            with T.sblock("C"):
    """

    MENU: ClassVar[str] = "Shape the loop"
    form: ClassVar[tuple[Field, ...]] = (NodeField("block_or_loop", "Block or loop"),)

    block_or_loop: BlockRef | LoopRef

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Around any loop or block but the root."""
        if isinstance(node, Block) and not node.is_root:
            ref: BlockRef | LoopRef = node.ref
        elif isinstance(node, Loop) and node.ref is not None:
            ref = node.ref
        else:
            return []
        label = "Add a loop of 1 around it"
        return [Offer(op="add_unit_loop", label=label, group=cls.MENU, step=cls(ref))]
