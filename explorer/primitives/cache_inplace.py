"""cache_inplace: a copy of a buffer that a block both reads and writes."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, BufferField, Field, ScopeField


class CacheInplace(Step, frozen=True, tag="cache_inplace"):
    """Copy a buffer that a block updates in place into faster memory, and back afterwards.

    Before:
        A[vi] = A[vi] + 1
    After `A_local, A_out = sch.cache_inplace(B, 0, "local")`:
        A_local[vi] = A[vi]
        A_local[vi] = A_local[vi] + 1
        A[vi] = A_local[vi]
    """

    MENU: ClassVar[str] = "Cache"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        BufferField("read_buffer_index", "Buffer", side="read"),
        ScopeField("storage_scope", "Memory"),
    )

    block: BlockRef
    read_buffer_index: int | str
    storage_scope: str

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Each buffer the block both reads and writes."""
        if not isinstance(node, Block) or node.is_root:
            return []
        written = {access.buffer for access in node.writes}
        return [
            Offer(
                op="cache_inplace",
                label=f"Update {access.buffer} in local memory",
                group=cls.MENU,
                step=cls(node.ref, at, "local"),
            )
            for at, access in enumerate(node.reads)
            if access.buffer in written
        ]
