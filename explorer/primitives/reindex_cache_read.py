"""reindex_cache_read: cache_read into a layout of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Resolver, Step
from explorer.primitives.fields import BlockField, BufferField, Field, ScopeField, TextField


class ReindexCacheRead(Step, frozen=True, tag="reindex_cache_read"):
    """Copy a buffer that a block reads into faster memory, indexed as `index_map` says.

    Before:
        C[vi, vj] = A[vi, vj] + 1
    After `A_shared = sch.reindex_cache_read(C, 0, "shared", lambda vi, vj: (vj, vi))`:
        A_shared[vj, vi] = A[vi, vj]
        C[vi, vj] = A_shared[vj, vi] + 1
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that reads"),
        BufferField("read_buffer_index", "Buffer", side="read"),
        ScopeField("storage_scope", "Memory"),
        TextField(
            "index_map", "From block iterators to indices", examples=("lambda i, j: (j, i)",)
        ),
    )

    block: BlockRef
    read_buffer_index: int
    storage_scope: str
    index_map: str

    def argument(self, live: Resolver, name: str, value: Any) -> Any:
        """The text becomes an index map."""
        if name == "index_map":
            return live.index_map(value, self.block)
        return super().argument(live, name, value)
