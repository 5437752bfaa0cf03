"""rfactor: a reduction in two stages."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, IntField, LoopField


class Rfactor(Step, frozen=True, tag="rfactor"):
    """Reduce each iteration of a loop on its own, in parallel, then reduce those results.

    `factor_axis` is the place of the new dimension in the buffer of partial results.

    Before:
        for i, k in T.grid(128, 64): B[i] += A[i, k]
    After `B_rf = sch.rfactor(k, 0)`:
        for k, i in T.grid(64, 128): B_rf[k, i] = A[i, k]
        for k, i in T.grid(64, 128): B[i] += B_rf[k, i]
    """

    MENU: ClassVar[str] = "Reduction"
    form: ClassVar[tuple[Field, ...]] = (
        LoopField("loop", "Reduction loop"),
        IntField("factor_axis", "Place of the new dimension", "-1 is last.", least=-16, most=16),
    )

    loop: LoopRef
    factor_axis: int

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a reduction loop; the new dimension goes first."""
        if not isinstance(node, Loop) or node.ref is None or node.kind != "reduction":
            return []
        refusal = "" if node.mode == "serial" else f"{node.name} is no longer a serial loop."
        return [
            Offer(
                op="rfactor",
                label=f"Reduce in two stages over {node.name}",
                group=cls.MENU,
                step=None if refusal else cls(node.ref, 0),
                refusal=refusal,
            )
        ]
