"""bind: a loop becomes a GPU block or thread axis."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Resolver, Step, check_thread_axis

AXES = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z",
    "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread.x", "vthread.y",
)  # fmt: skip
KEYS = {"blockIdx.x": "b", "threadIdx.x": "t"}


class Bind(Step, frozen=True, tag="bind"):
    """Run the iterations of a loop on a GPU axis instead of one after another.

    Before: `for i in range(128)`; after: `for i in T.thread_binding(128, thread="threadIdx.x")`.
    """

    MENU: ClassVar[str] = "Bind to the GPU"

    loop: LoopRef
    thread_axis: str

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Check the axis name ourselves, then bind.  Raises StepRefused."""
        check_thread_axis(self.thread_axis)
        return super().apply(live)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Every axis; a reduction can't be spread over blocks, and an axis on the path is taken."""
        if not isinstance(node, Loop) or node.ref is None or node.inside_block:
            return []
        taken = {
            other.binding
            for other in function.nodes
            if isinstance(other, Loop)
            and other.binding
            and (node.id.startswith(other.id + "/") or other.id.startswith(node.id + "/"))
        }
        offers = []
        for axis in AXES:
            refusal = ""
            if node.kind == "reduction" and axis.startswith("blockIdx"):
                refusal = f"{node.name} is a reduction: blocks can't add up into one element."
            elif axis in taken and not axis.startswith("vthread"):
                refusal = f"{axis} is already used on this path: only the diagonal would run."
            elif node.mode == "bound":
                refusal = f"{node.name} is already bound to {node.binding}."
            offers.append(
                Offer(
                    op="bind",
                    label=f"Bind to {axis}",
                    group=cls.MENU,
                    step=None if refusal else cls(node.ref, axis),
                    key="" if refusal else KEYS.get(axis, ""),
                    refusal=refusal,
                )
            )
        return offers
