"""unsafe_hide_buffer_access: accesses left out of a block's regions."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, ChoiceField, Field, IntField, ListField


class UnsafeHideBufferAccess(Step, frozen=True, tag="unsafe_hide_buffer_access"):
    """Leave accesses out of a block's reads or writes, so that an instruction matches it.

    Before:
        T.reads(A[vi], index[vi])
    After `sch.unsafe_hide_buffer_access(B, "read", [1])`:
        T.reads(A[vi])
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        ChoiceField("buf_type", "Reads or writes", options=("read", "write")),
        ListField("buf_index_array", "Places to hide", item=IntField("n", "Place")),
    )

    block: BlockRef
    buf_type: str
    buf_index_array: tuple[int, ...]
