"""cache_write: a block writes into a copy first."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, BufferField, Field, ListField, ScopeField


class CacheWrite(Step, frozen=True, tag="cache_write"):
    """Let a block write into faster memory, and copy the result out afterwards.

    Move the copy where it is needed with `reverse_compute_at`.

    Before:
        C[vi] = A[vi] + 1
    After `C_local = sch.cache_write(C, 0, "local")`:
        C_local[vi] = A[vi] + 1
        C[vi] = C_local[vi]
    """

    MENU: ClassVar[str] = "Cache"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("write_buffer_index", "Buffer", side="write"),
        ScopeField("storage_scope", "Memory"),
        ListField("consumer_blocks", "Only for these readers", item=BlockField("block", "Block")),
    )

    block: BlockRef
    write_buffer_index: int | str
    storage_scope: str
    consumer_blocks: tuple[BlockRef, ...] | None = None

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Each buffer the block writes, in local and in shared memory."""
        if not isinstance(node, Block) or node.is_root:
            return []
        scopes = {buffer.name: buffer.scope for buffer in function.buffers}
        return [
            Offer(
                op="cache_write",
                label=f"Write {access.buffer} through {scope} memory",
                group=cls.MENU,
                step=cls(node.ref, at, scope),
                key="w" if at == 0 and scope == "local" else "",
            )
            for at, access in enumerate(node.writes)
            for scope in ("local", "shared")
            if scopes.get(access.buffer) != scope
        ]
