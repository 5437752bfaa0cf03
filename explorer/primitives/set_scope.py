"""set_scope: a buffer lives in another memory."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, BufferField, Field, ScopeField


class SetScope(Step, frozen=True, tag="set_scope"):
    """Move an intermediate buffer that a block writes into another memory.

    Before:
        B = T.sblock_alloc_buffer((128,))
    After `sch.set_scope(B, 0, "shared")`:
        B = T.sblock_alloc_buffer((128,), scope="shared")
    """

    MENU: ClassVar[str] = "Cache"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("buffer_index", "Buffer", side="write"),
        ScopeField("storage_scope", "Memory"),
    )

    block: BlockRef
    buffer_index: int | str
    storage_scope: str

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Each intermediate buffer the block writes, in each memory it is not in."""
        if not isinstance(node, Block) or node.is_root:
            return []
        buffers = {buffer.name: buffer for buffer in function.buffers}
        offers = []
        for at, access in enumerate(node.writes):
            buffer = buffers.get(access.buffer)
            if buffer is None or buffer.param:
                continue
            offers += [
                Offer(
                    op="set_scope",
                    label=f"Keep {buffer.name} in {scope} memory",
                    group=cls.MENU,
                    step=cls(node.ref, at, scope),
                )
                for scope in ("shared", "local", "global")
                if scope != buffer.scope
            ]
        return offers
