"""compute_at: a producer moves under a loop of its consumer."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, FlagField, IntField, LoopField
from explorer.primitives.scope import Scope, common_loops


class ComputeAt(Step, frozen=True, tag="compute_at"):
    """Move a block under a loop of its consumers, computing there just what they need.

    Before:
        for i, j in T.grid(128, 128): [block B]
        for i, j in T.grid(128, 128): [block C reads B]
    After `sch.compute_at(B, i)`:
        for i in range(128):
            for ax0 in range(128): [block B]
            for j in range(128): [block C reads B]
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
        """One per loop that all its consumers are under, innermost first."""
        if not isinstance(node, Block) or node.is_root:
            return []
        scope = Scope(function)
        others = scope.consumers(node)
        if not others:
            return []
        if scope.is_output(node):
            why = f"{node.name} writes an argument of {function.name}: it can't follow a reader."
            return [Offer(op="compute_at", label="Compute at", group=cls.MENU, refusal=why)]
        loops = common_loops(scope, node, others)
        around = scope.loops_around(others[0])
        if not loops:
            why = f"No loop holds all that read it without holding {node.name} too."
            return [Offer(op="compute_at", label="Compute at", group=cls.MENU, refusal=why)]
        return [
            Offer(
                op="compute_at",
                label=f"Compute at {loop.name} of {others[0].name}",
                group=cls.MENU,
                step=cls(node.ref, LoopRef(others[0].ref, around.index(loop), loop.name)),
                key="a" if at == 0 else "",
            )
            for at, loop in enumerate(loops)
        ]
