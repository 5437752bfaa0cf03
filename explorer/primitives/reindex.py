"""reindex: a copy of a buffer laid out by the block's iterators."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.errors import StepRefused
from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Resolver, Step
from explorer.primitives.fields import BlockField, Field, SlotField


class Reindex(Step, frozen=True, tag="reindex"):
    """Copy a buffer into one indexed by the block's own iterators.

    Before:
        C[vi, vj] = A[vj, vi] * 2
    After `A_reindex = sch.reindex(C, ("read", 0))`:
        A_reindex[vi, vj] = A[vj, vi]
        C[vi, vj] = A_reindex[vi, vj] * 2
    """

    MENU: ClassVar[str] = "Layout"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        SlotField("buffer", "Buffer"),
    )

    block: BlockRef
    buffer: tuple[str, int]

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Refuse a block without iterators, on which TVM 0.27 crashes."""
        if live.iterators(self.block) == 0:
            raise StepRefused(
                f"Block {self.block.name} has no iterators.",
                "The copy is laid out by them, so it would have no dimension.",
            )
        return super().apply(live)

    def argument(self, live: Resolver, name: str, value: Any) -> Any:
        """TVM wants the buffer as a tuple."""
        return value if name == "buffer" else super().argument(live, name, value)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """Each buffer the block reads or writes."""
        if not isinstance(node, Block) or node.is_root or not node.iters:
            return []
        return [
            Offer(
                op="reindex",
                label=f"Reindex {access.buffer} ({side})",
                group=cls.MENU,
                step=cls(node.ref, (side, at)),
            )
            for side, accesses in (("read", node.reads), ("write", node.writes))
            for at, access in enumerate(accesses)
        ]
