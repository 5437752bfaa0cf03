"""cache_write: a block writes into a copy first."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.caching import AFTER_THE_BUFFER, MENU, offers_in
from explorer.primitives.fields import BlockField, BufferField, Field


class CacheWrite(Step, frozen=True, tag="cache_write"):
    """Let a block write into faster memory, and copy the result out afterwards.

    Move the copy where it is needed with `reverse_compute_at`.

    Before:
        C[vi] = A[vi] + 1
    After `C_local = sch.cache_write(C, 0, "local")`:
        C_local[vi] = A[vi] + 1
        C[vi] = C_local[vi]
    """

    MENU: ClassVar[str] = MENU
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("write_buffer_index", "Buffer", side="write"),
        *AFTER_THE_BUFFER,
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
        return offers_in(
            ("local", "shared"), cls, cls.op(), function, node, node.writes,
            "Write {buffer} through {scope} memory", "w",
        )  # fmt: skip
