"""read_at: a copy at a loop in one step."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, BufferField, Field, LoopField, ScopeField


class ReadAt(Step, frozen=True, tag="read_at"):
    """Copy what a block reads into faster memory, once per iteration of a loop.

    Before:
        for i: [block C reads A]
    After `A_shared = sch.read_at(i, C, 0, "shared")`:
        for i: [block A_shared]; [block C reads A_shared]
    """

    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "At the loop"),
        BlockField("block", "Block"),
        BufferField("read_buffer_index", "Buffer", side="read"),
        ScopeField("storage_scope", "Memory"),
    )

    loop: LoopRef
    block: BlockRef
    read_buffer_index: int
    storage_scope: str
