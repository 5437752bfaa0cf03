"""pad_einsum: a block's domain rounded up."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, IntField, ListField


class PadEinsum(Step, frozen=True, tag="pad_einsum"):
    """Round each iterator of a block up to a multiple, with blocks that pad and cut around it.

    Before:
        for i, j, k in T.grid(127, 127, 127): [block C]
    After `sch.pad_einsum(C, [16, 16, 16])`:
        for i, j in T.grid(128, 128): [block A_pad]
        for i, j in T.grid(128, 128): [block B_pad]
        for i, j, k in T.grid(128, 128, 128): [block C]
        for i, j in T.grid(127, 127): [block C_pad]
    """

    MENU: ClassVar[str] = "Layout"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        ListField("padding", "Multiple for each iterator", item=IntField("n", "Multiple", least=1)),
    )

    block: BlockRef
    padding: tuple[int, ...]

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for a block with iterators."""
        if not isinstance(node, Block) or node.is_root or not node.iters:
            return []
        known = {"block": node.ref}
        return [Offer(op="pad_einsum", label="Pad its iterators…", group=cls.MENU, known=known)]
