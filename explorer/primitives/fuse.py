"""fuse: nested loops become one."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, FlagField, ListField, LoopField
from explorer.primitives.scope import Scope, why_not_free


class Fuse(Step, frozen=True, tag="fuse"):
    """Fuse nested loops, outermost first, into one loop over all their iterations.

    Each loop must hold the next one and nothing else.

    Before:
        for i, j in T.grid(8, 128):
    After `i_j_fused = sch.fuse(i, j)`:
        for i_j_fused in range(1024):
    """

    MENU: ClassVar[str] = "Shape the loop"
    STARRED: ClassVar[str] = "loops"
    form: ClassVar[tuple[Field, ...]] = (
        ListField("loops", "Loops, outermost first", item=LoopField("loop", "Loop"), least=2),
        FlagField("preserve_unit_iters", "Keep iterators of extent 1"),
    )

    loops: tuple[LoopRef, ...]
    preserve_unit_iters: bool = True

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """With the loop inside; refused where something else is inside too."""
        if not isinstance(node, Loop) or node.ref is None:
            return []
        scope = Scope(function)
        inner = scope.only_child_loop(node)
        if inner is None or inner.ref is None:
            if len(node.children) < 2:
                return []
            why = f"{node.name} holds {len(node.children)} things: only a single loop can be fused."
            return [Offer(op="fuse", label="Fuse", group=cls.MENU, refusal=why)]
        refusal = why_not_free(node) or why_not_free(inner)
        return [
            Offer(
                op="fuse",
                label=f"Fuse with {inner.name}",
                group=cls.MENU,
                step=None if refusal else cls((node.ref, inner.ref)),
                key="" if refusal else "f",
                refusal=refusal,
            )
        ]
