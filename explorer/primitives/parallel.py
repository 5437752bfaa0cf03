"""parallel: a loop runs on CPU threads."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, LoopField


class Parallel(Step, frozen=True, tag="parallel"):
    """Run the iterations of a loop on the threads of a CPU; a GPU kernel needs `bind`.

    Before:
        for i in range(128):
    After `sch.parallel(i)`:
        for i in T.parallel(128):
    """

    MENU: ClassVar[str] = "Run it differently"
    form: ClassVar[tuple[Field, ...]] = (LoopField("loop", "Loop"),)

    loop: LoopRef

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a serial loop above a block."""
        if not isinstance(node, Loop) or node.ref is None or node.mode == "parallel":
            return []
        refusal = _why_not(node)
        return [
            Offer(
                op="parallel",
                label="Run in parallel (CPU)",
                group=cls.MENU,
                step=None if refusal else cls(node.ref),
                key="" if refusal else "p",
                refusal=refusal,
            )
        ]


def _why_not(loop: Loop) -> str:
    if loop.mode == "bound":
        return f"{loop.name} is bound to {loop.binding}."
    if loop.kind in ("reduction", "mixed"):
        return f"{loop.name} is a {loop.kind} loop: its iterations depend on one another."
    return ""
