"""write_at: a copy at a loop in one step."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, BufferField, Field, LoopField, ScopeField


class WriteAt(Step, frozen=True, tag="write_at"):
    """Collect what a block writes in faster memory and copy it out once per iteration of a loop.

    Before:
        for i: [block C writes B]
    After `B_shared = sch.write_at(i, C, 0, "shared")`:
        for i: [block C writes B_shared]; [block B_shared]
    """

    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "At the loop"),
        BlockField("block", "Block"),
        BufferField("write_buffer_index", "Buffer", side="write"),
        ScopeField("storage_scope", "Memory"),
    )

    loop: LoopRef
    block: BlockRef
    write_buffer_index: int
    storage_scope: str
