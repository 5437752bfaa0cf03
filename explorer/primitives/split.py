"""split: one loop becomes several nested ones."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import FactorsField, Field, FlagField, LoopField
from explorer.primitives.scope import why_not_free


class Split(Step, frozen=True, tag="split"):
    """Split a loop into nested loops whose extents are `factors`, outermost first.

    At most one factor may be None: TVM works it out, rounding up and guarding the tail.

    Before:
        for i in range(1024):
    After `i_0, i_1 = sch.split(i, factors=[None, 128])`:
        for i_0, i_1 in T.grid(8, 128):
    """

    MENU: ClassVar[str] = "Shape the loop"
    BY_NAME: ClassVar[frozenset[str]] = frozenset({"factors"})
    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "Loop"),
        FactorsField("factors", "Factors", "Extents, outermost first; None for one."),
        FlagField("preserve_unit_iters", "Keep iterators of extent 1"),
        FlagField("disable_predication", "Leave out the guard of the tail"),
    )

    loop: LoopRef
    factors: tuple[int | None, ...]
    preserve_unit_iters: bool = True
    disable_predication: bool = False

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form, with the sizes that divide first."""
        if not isinstance(node, Loop) or node.ref is None:
            return []
        return [
            Offer(
                op="split",
                label="Split…",
                group=cls.MENU,
                known={"loop": node.ref},
                key="s",
                refusal=why_not_free(node),
            )
        ]
