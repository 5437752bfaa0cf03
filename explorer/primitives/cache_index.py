"""cache_index: index arithmetic computed once."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, Field, IntField, ScopeField


class CacheIndex(Step, frozen=True, tag="cache_index"):
    """Compute the index expressions of a block beforehand and keep them in a buffer.

    Before:
        B[vi] = A[vi // 3 * 7]
    After `index = sch.cache_index(B, "global")`:
        index_var_0[vi] = vi // 3 * 7
        B[vi] = A[index_var_0[vi]]
    """

    MENU: ClassVar[str] = "Cache"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        ScopeField("storage_scope", "Memory"),
        IntField("cse_thresh", "Least repeats", "0 keeps every index expression."),
    )

    block: BlockRef
    storage_scope: str
    cse_thresh: int = 0
