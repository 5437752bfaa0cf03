"""loop_partition: one loop becomes several in a row."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import LoopRef
from explorer.primitives.base import Step
from explorer.primitives.fields import FactorsField, Field, FlagField, LoopField


class LoopPartition(Step, frozen=True, tag="loop_partition"):
    """Cut a loop into loops that follow one another, `factors` iterations each.

    Not in the menus: TVM 0.27 crashes on some nests.

    Before:
        for i in range(100):
    After `i0, i1 = sch.loop_partition(i, factors=[64, None])`:
        for i0 in range(64):
        for i1 in range(64, 100):
    """

    BY_NAME: ClassVar[frozenset[str]] = frozenset({"factors"})
    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "Loop"),
        FactorsField("factors", "Lengths", "Iterations of each part; None for one."),
        FlagField("preserve_unit_iters", "Keep iterators of extent 1"),
    )

    loop: LoopRef
    factors: tuple[int | None, ...]
    preserve_unit_iters: bool = True
