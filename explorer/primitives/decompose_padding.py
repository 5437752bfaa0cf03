"""decompose_padding: filling and copying in blocks of their own."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, Field, LoopField


class DecomposePadding(Step, frozen=True, tag="decompose_padding"):
    """Fill a padded buffer with its constant first, then copy what lies inside.

    Before:
        y[vi] = T.if_then_else(6 <= vi and vi < 134, x[vi - 6], 0)
    After `fill = sch.decompose_padding(y, i)`:
        y[vi] = 0
        y[vi + 6] = x[vi]
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Padding block"),
        LoopField("loop", "Before the loop"),
    )

    block: BlockRef
    loop: LoopRef
