"""unsafe_set_dtype: another element type for a buffer."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, BufferField, Field, TextField


class UnsafeSetDtype(Step, frozen=True, tag="unsafe_set_dtype"):
    """Give an intermediate buffer another element type; results may change.

    Before:
        B = T.sblock_alloc_buffer((128,), "float32")
    After `sch.unsafe_set_dtype(B, 0, "float16")`:
        B = T.sblock_alloc_buffer((128,), "float16")
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("buffer_index", "Buffer", side="write"),
        TextField("dtype", "Element type", examples=("float16", "float32", "bfloat16")),
    )

    block: BlockRef
    buffer_index: int
    dtype: str
