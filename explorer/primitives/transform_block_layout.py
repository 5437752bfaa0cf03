"""transform_block_layout: other iterators for a block."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Resolver, Step
from explorer.primitives.fields import BlockField, Field, TextField


class TransformBlockLayout(Step, frozen=True, tag="transform_block_layout"):
    """Give a block other iterators and loops: `index_map` maps the old iterators to the new.

    Before:
        for i, j in T.grid(64, 64): [block B]
    After `sch.transform_block_layout(B, lambda i, j: (i * 64 + j,))`:
        for ax0 in range(4096): [block B]
    """

    MENU: ClassVar[str] = "Layout"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        TextField("index_map", "New iterators", examples=("lambda i, j: (j, i)",)),
    )

    block: BlockRef
    index_map: str

    def argument(self, live: Resolver, name: str, value: Any) -> Any:
        """The text becomes an index map."""
        if name == "index_map":
            return live.index_map(value, self.block)
        return super().argument(live, name, value)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for a block with iterators."""
        if not isinstance(node, Block) or node.is_root or not node.iters:
            return []
        known = {"block": node.ref}
        label = "Change its iterators…"
        return [Offer(op="transform_block_layout", label=label, group=cls.MENU, known=known)]
