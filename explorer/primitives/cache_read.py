"""cache_read: a copy of what a block reads."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, BufferField, Field, ListField, ScopeField


class CacheRead(Step, frozen=True, tag="cache_read"):
    """Copy a buffer that a block reads into faster memory, and read the copy.

    Move the copy where it is needed with `compute_at`.

    Before:
        C[vi] = A[vi] + 1
    After `A_shared = sch.cache_read(C, 0, "shared")`:
        A_shared[vi] = A[vi]
        C[vi] = A_shared[vi] + 1
    """

    MENU: ClassVar[str] = "Cache"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that reads"),
        BufferField("read_buffer_index", "Buffer", side="read"),
        ScopeField("storage_scope", "Memory"),
        ListField("consumer_blocks", "Only for these readers", item=BlockField("block", "Block")),
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
        scopes = {buffer.name: buffer.scope for buffer in function.buffers}
        return [
            Offer(
                op="cache_read",
                label=f"Cache {access.buffer} in {scope} memory",
                group=cls.MENU,
                step=cls(node.ref, at, scope),
                key="c" if at == 0 and scope == "shared" else "",
            )
            for at, access in enumerate(node.reads)
            for scope in ("shared", "local")
            if scopes.get(access.buffer) != scope
        ]
