"""cache_inplace: a copy of a buffer that a block both reads and writes."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, BufferField, Field, ScopeField


class CacheInplace(Step, frozen=True, tag="cache_inplace"):
    """Copy a buffer that a block updates in place into faster memory, and back afterwards.

    Not in the menus: the block still works in place, and TVM 0.27 gives wrong modules for blocks
    inside blocks.

    Before:
        A[vi] = A[vi] + 1
    After `A_local, A_out = sch.cache_inplace(B, 0, "local")`:
        A_local[vi] = A[vi]
        A_local[vi] = A_local[vi] + 1
        A[vi] = A_local[vi]
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        BufferField("read_buffer_index", "Buffer", side="read"),
        ScopeField("storage_scope", "Memory"),
    )

    block: BlockRef
    read_buffer_index: int | str
    storage_scope: str
