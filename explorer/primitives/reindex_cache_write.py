"""reindex_cache_write: cache_write into a layout of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Resolver, Step
from explorer.primitives.fields import BlockField, BufferField, Field, ScopeField, TextField


class ReindexCacheWrite(Step, frozen=True, tag="reindex_cache_write"):
    """Let a block write into faster memory, indexed as `index_map` says, and copy it out.

    Before:
        C[vi, vj] = A[vi, vj] + 1
    After `C_local = sch.reindex_cache_write(C, 0, "local", lambda vi, vj: (vj, vi))`:
        C_local[vj, vi] = A[vi, vj] + 1
        C[vi, vj] = C_local[vj, vi]
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("write_buffer_index", "Buffer", side="write"),
        ScopeField("storage_scope", "Memory"),
        TextField(
            "index_map", "From block iterators to indices", examples=("lambda i, j: (j, i)",)
        ),
    )

    block: BlockRef
    write_buffer_index: int
    storage_scope: str
    index_map: str

    def argument(self, live: Resolver, name: str, value: Any) -> Any:
        """The text becomes an index map."""
        if name == "index_map":
            return live.index_map(value, self.block)
        return super().argument(live, name, value)
