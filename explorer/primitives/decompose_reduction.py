"""decompose_reduction: the initial value in a block of its own."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, LoopField
from explorer.primitives.scope import Scope


class DecomposeReduction(Step, frozen=True, tag="decompose_reduction"):
    """Set a reduction's initial value in a block of its own, before a loop.

    Before:
        for i, k in T.grid(128, 64): [block C with T.init()]
    After `C_init = sch.decompose_reduction(C, k)`:
        for i in range(128):
            [block C_init]
            for k in range(64): [block C_update]
    """

    MENU: ClassVar[str] = "Reduction"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Reduction block"),
        LoopField("loop", "Before the loop"),
    )

    block: BlockRef
    loop: LoopRef

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """One per loop down to the outermost reduction loop, that one first."""
        if not isinstance(node, Block) or not node.has_init:
            return []
        loops = Scope(function).loops_around(node)
        reducing = [at for at, loop in enumerate(loops) if loop.kind in ("reduction", "mixed")]
        fit = loops[: reducing[0] + 1] if reducing else loops
        return [
            Offer(
                op="decompose_reduction",
                label=f"Set the initial value before {loop.name}",
                group=cls.MENU,
                step=cls(node.ref, LoopRef(node.ref, loops.index(loop), loop.name)),
                key="d" if at == 0 else "",
            )
            for at, loop in enumerate(reversed(fit))
        ]
