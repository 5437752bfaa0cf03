"""blockize: a subtree becomes one block."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, FlagField, LoopField


class Blockize(Step, frozen=True, tag="blockize"):
    """Wrap everything under a loop, or several blocks, into one block, e.g. to tensorize it.

    Before:
        for i_0, i_1 in T.grid(8, 16): [block B]
    After `B_o = sch.blockize(i_1)`:
        for i_0 in range(8):
            with T.sblock("B_o"):
                for i_1 in range(16): [block B]
    """

    MENU: ClassVar[str] = "Tensorize"
    form: ClassVar[tuple[Field, ...]] = (
        LoopField("target", "Loop"),
        FlagField("preserve_unit_iters", "Keep iterators of extent 1"),
    )

    target: LoopRef | tuple[BlockRef, ...]
    preserve_unit_iters: bool = True

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a loop above a block."""
        if not isinstance(node, Loop) or node.ref is None:
            return []
        label = "Make a block of it"
        return [Offer(op="blockize", label=label, group=cls.MENU, step=cls(node.ref))]
