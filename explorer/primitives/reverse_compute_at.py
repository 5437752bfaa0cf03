"""reverse_compute_at: a consumer moves under a loop of its producer."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, FlagField, IntField, LoopField
from explorer.primitives.scope import Scope, common_loops


class ReverseComputeAt(Step, frozen=True, tag="reverse_compute_at"):
    """Move a block under a loop of its producers, using there what they have just computed.

    Before:
        for i, j in T.grid(128, 128): [block B]
        for i, j in T.grid(128, 128): [block C reads B]
    After `sch.reverse_compute_at(C, i)`:
        for i in range(128):
            for j in range(128): [block B]
            for ax0 in range(128): [block C reads B]
    """

    MENU: ClassVar[str] = "Move the block"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        LoopField("loop", "Under the loop"),
        FlagField("preserve_unit_loops", "Keep loops of extent 1"),
        IntField("index", "Place among the blocks there", "-1 is last, -2 first.", least=-2),
    )

    block: BlockRef
    loop: LoopRef
    preserve_unit_loops: bool = False
    index: int = -1

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """One per loop that all its producers are under, innermost first."""
        if not isinstance(node, Block) or node.is_root:
            return []
        scope = Scope(function)
        others = scope.producers(node)
        if not others:
            return []
        loops = common_loops(scope, node, others)
        around = scope.loops_around(others[0])
        if not loops:
            why = f"No loop holds all that feed it without holding {node.name} too."
            return [
                Offer(
                    op="reverse_compute_at",
                    label="Follow its producer at",
                    group=cls.MENU,
                    refusal=why,
                )
            ]
        return [
            Offer(
                op="reverse_compute_at",
                label=f"Follow its producer at {loop.name} of {others[0].name}",
                group=cls.MENU,
                step=cls(node.ref, LoopRef(others[0].ref, around.index(loop), loop.name)),
                key="e" if at == 0 else "",
            )
            for at, loop in enumerate(loops)
        ]
