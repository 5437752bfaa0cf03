"""bind: a loop becomes a GPU block or thread axis."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.axes import kernels_of, new_violation, violations
from explorer.primitives.base import Offer, Resolver, Step, check_thread_axis
from explorer.primitives.fields import AXES, AxisField, Field, LoopField

KEYS = {"blockIdx.x": "b", "threadIdx.x": "t"}


class Bind(Step, frozen=True, tag="bind"):
    """Run the iterations of a loop on a GPU axis instead of one after another.

    Before:
        for i in range(128):
    After `sch.bind(i, "threadIdx.x")`:
        for i in T.thread_binding(128, thread="threadIdx.x"):
    """

    MENU: ClassVar[str] = "Bind to the GPU"
    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "Loop"),
        AxisField("thread_axis", "Thread axis"),
    )

    loop: LoopRef
    thread_axis: str

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Check the axis name ourselves, then bind.  Raises StepRefused."""
        check_thread_axis(self.thread_axis)
        return super().apply(live)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Every axis; one that can never be right says why."""
        if not isinstance(node, Loop) or node.ref is None:
            return []
        before = violations(kernels_of(function))
        offers = []
        for axis in AXES:
            refusal = _why_not(node, axis)
            if not refusal:
                after = violations(kernels_of(function, also=(node.id, axis)))
                wrong = new_violation(before, after)
                refusal = wrong.sentence() if wrong else ""
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


def _why_not(loop: Loop, axis: str) -> str:
    if loop.binding == axis:
        return f"{loop.name} is bound to {axis} already."
    if loop.kind in ("reduction", "mixed") and not axis.startswith("threadIdx"):
        return f"{loop.name} is a {loop.kind} loop: only threads of one block can add up together."
    return ""
