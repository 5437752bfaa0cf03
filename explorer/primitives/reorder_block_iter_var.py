"""reorder_block_iter_var: a block's iterators in another order."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, IntField, ListField


class ReorderBlockIterVar(Step, frozen=True, tag="reorder_block_iter_var"):
    """List a block's iterators in another order, which tensorizing may need.

    Before:
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
    After `sch.reorder_block_iter_var(C, [2, 0, 1])`:
        vk, vi, vj = T.axis.remap("RSS", [k, i, j])
    """

    MENU: ClassVar[str] = "Layout"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        ListField("new_order", "Old places in the new order", item=IntField("n", "Place")),
    )

    block: BlockRef
    new_order: tuple[int, ...]

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for a block with several iterators."""
        if not isinstance(node, Block) or len(node.iters) < 2:
            return []
        known = {"block": node.ref}
        label = "Reorder its iterators…"
        return [Offer(op="reorder_block_iter_var", label=label, group=cls.MENU, known=known)]
