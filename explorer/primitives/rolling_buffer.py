"""rolling_buffer: a buffer that keeps only what overlaps."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, BufferField, Field


class RollingBuffer(Step, frozen=True, tag="rolling_buffer"):
    """Keep only the rows of a buffer that the next iteration still needs, in a ring.

    Before:
        B[i + ax0, j] = A[i + ax0, j]
    After `sch.rolling_buffer(B, 0)`:
        B[(i + ax0) % 3, j] = A[i + ax0, j]
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block that writes"),
        BufferField("write_buffer_index", "Buffer", side="write"),
    )

    block: BlockRef
    write_buffer_index: int
