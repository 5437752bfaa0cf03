"""fuse_reduction_epilogue: what follows a reduction goes into it."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import BlockRef
from explorer.primitives.base import Step
from explorer.primitives.fields import BlockField, Field


class FuseReductionEpilogue(Step, frozen=True, tag="fuse_reduction_epilogue"):
    """Let a reduction start from the bias that a following block would add.

    With a following `max` or clip the result may change: it is then applied at every iteration.

    Before:
        C[vi] = 0; C[vi] += A[vi, vk]
        D[vi] = C[vi] + bias[vi]
    After `sch.fuse_reduction_epilogue(C, D)`:
        D[vi] = bias[vi]; D[vi] += A[vi, vk]
    """

    form: ClassVar[tuple[Field, ...]] = (
        BlockField("reduction_block", "Reduction block"),
        BlockField("epilogue_block", "Block behind it"),
    )

    reduction_block: BlockRef
    epilogue_block: BlockRef
