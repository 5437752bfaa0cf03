"""unroll: a loop is written out."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, LoopField


class Unroll(Step, frozen=True, tag="unroll"):
    """Write out the iterations of a loop one after another.

    Before:
        for k in range(4):
    After `sch.unroll(k)`:
        for k in T.unroll(4):
    """

    MENU: ClassVar[str] = "Run it differently"
    form: ClassVar[tuple[Field, ...]] = (LoopField("loop", "Loop"),)

    loop: LoopRef

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a serial loop above a block."""
        if not isinstance(node, Loop) or node.ref is None or node.mode == "unrolled":
            return []
        refusal = _why_not(node)
        return [
            Offer(
                op="unroll",
                label="Unroll",
                group=cls.MENU,
                step=None if refusal else cls(node.ref),
                key="" if refusal else "u",
                refusal=refusal,
            )
        ]


def _why_not(loop: Loop) -> str:
    if loop.mode == "bound":
        return f"{loop.name} is bound to {loop.binding}."
    return ""
