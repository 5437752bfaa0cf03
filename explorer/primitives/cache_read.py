"""cache_read: a copy of what a block reads."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.caching import AFTER_THE_BUFFER, MENU, offers_in
from explorer.primitives.fields import BlockField, BufferField, Field


class CacheRead(Step, frozen=True, tag="cache_read"):
    """Copy a buffer that a block reads into faster memory, and read the copy.

    Move the copy where it is needed with `compute_at`.

    Before:
        C[vi] = A[vi] + 1
    After `A_shared = sch.cache_read(C, 0, "shared")`:
        A_shared[vi] = A[vi]
        C[vi] = A_shared[vi] + 1
    """

    MENU: ClassVar[str] = MENU
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that reads"),
        BufferField("read_buffer_index", "Buffer", side="read"),
        *AFTER_THE_BUFFER,
    )

    block: BlockRef
    read_buffer_index: int | str
    storage_scope: str
    consumer_blocks: tuple[BlockRef, ...] | None = None

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Each buffer the block reads, in shared and in local memory."""
        if not isinstance(node, Block) or node.is_root:
            return []
        return offers_in(
            ("shared", "local"), cls, cls.op(), function, node, node.reads,
            "Cache {buffer} in {scope} memory", "c",
        )  # fmt: skip
