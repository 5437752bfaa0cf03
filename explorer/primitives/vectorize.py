"""vectorize: a loop becomes one vector operation."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Resolver, Step
from explorer.primitives.fields import Field, LoopField


class Vectorize(Step, frozen=True, tag="vectorize"):
    """Turn the iterations of an innermost loop into the lanes of vector loads and stores.

    Before:
        for j in range(4):
    After `sch.vectorize(j)`:
        for j in T.vectorized(4):
    """

    MENU: ClassVar[str] = "Run it differently"
    form: ClassVar[tuple[Field, ...]] = (LoopField("loop", "Loop"),)

    loop: LoopRef

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Refuse an extent that is not a constant, which TVM accepts and code generation can't."""
        live.constant_extent(self.loop, "A vector needs a fixed number of lanes.")
        return super().apply(live)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a serial loop above a block."""
        if not isinstance(node, Loop) or node.ref is None or node.mode == "vectorized":
            return []
        refusal = _why_not(node)
        return [
            Offer(
                op="vectorize",
                label="Vectorize",
                group=cls.MENU,
                step=None if refusal else cls(node.ref),
                key="" if refusal else "v",
                refusal=refusal,
            )
        ]


def _why_not(loop: Loop) -> str:
    if loop.mode == "bound":
        return f"{loop.name} is bound to {loop.binding}."
    if loop.extent_value is None:
        return f"{loop.name} runs {loop.extent} times: a vector needs a fixed number of lanes."
    if loop.kind in ("reduction", "mixed"):
        return f"{loop.name} is a {loop.kind} loop: its iterations depend on one another."
    return ""
