"""loop_partition: one loop becomes several in a row."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import FactorsField, Field, FlagField, LoopField
from explorer.primitives.scope import why_not_free


class LoopPartition(Step, frozen=True, tag="loop_partition"):
    """Cut a loop into loops that follow one another, `factors` iterations each.

    Before:
        for i in range(100):
    After `i_0, i_1 = sch.loop_partition(i, factors=[64, None])`:
        for i_0 in range(64):
        for i_1 in range(36):
    """

    MENU: ClassVar[str] = "Shape the loop"
    BY_NAME: ClassVar[frozenset[str]] = frozenset({"factors"})
    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "Loop"),
        FactorsField("factors", "Lengths", "Iterations of each part; None for one."),
        FlagField("preserve_unit_iters", "Keep iterators of extent 1"),
    )

    loop: LoopRef
    factors: tuple[int | None, ...]
    preserve_unit_iters: bool = True

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for a loop of constant extent."""
        if not isinstance(node, Loop) or node.ref is None or node.extent_value is None:
            return []
        return [
            Offer(
                op="loop_partition",
                label="Cut into parts…",
                group=cls.MENU,
                known={"loop": node.ref},
                refusal=why_not_free(node),
            )
        ]
