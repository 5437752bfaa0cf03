"""storage_align: padding in a buffer's rows."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, BufferField, Field, IntField


class StorageAlign(Step, frozen=True, tag="storage_align"):
    """Pad a dimension so that its stride is a multiple of `factor` plus `offset`.

    Rows of 32 floats in shared memory, padded by one, no longer fall into the same bank.

    Before:
        T.sblock_attr({})
    After `sch.storage_align(B, 0, axis=-2, factor=32, offset=8)`:
        T.sblock_attr({"buffer_dim_align": [[0, -2, 32, 8]]})
    """

    MENU: ClassVar[str] = "Layout"
    BY_NAME: ClassVar[frozenset[str]] = frozenset({"axis", "factor", "offset"})
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("buffer_index", "Buffer", side="write"),
        IntField("axis", "Dimension", "-2 is the last but one.", least=-16, most=16),
        IntField("factor", "Multiple of", least=1),
        IntField("offset", "Plus"),
    )

    block: BlockRef
    buffer_index: int
    axis: int
    factor: int
    offset: int

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for a block that writes a buffer of the function's own."""
        if not isinstance(node, Block) or node.is_root:
            return []
        own = {buffer.name for buffer in function.buffers if not buffer.param}
        return [
            Offer(
                op="storage_align",
                label=f"Pad rows of {access.buffer}…",
                group=cls.MENU,
                known={"block": node.ref, "buffer_index": at, "axis": -2},
            )
            for at, access in enumerate(node.writes)
            if access.buffer in own
        ]
