"""reverse_compute_inline: a block's expression goes into its producer."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field
from explorer.primitives.scope import Scope


class ReverseComputeInline(Step, frozen=True, tag="reverse_compute_inline"):
    """Put a block's expression into its only producer; the buffer between them goes away.

    Before:
        B[vi] = A[vi] * 2
        C[vi] = B[vi] + 1
    After `sch.reverse_compute_inline(C)`:
        C[vi] = A[vi] * 2 + 1
    """

    MENU: ClassVar[str] = "Move the block"
    form: ClassVar[tuple[Field, ...]] = (BlockField("block", "Block"),)

    block: BlockRef

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a block that one other block feeds."""
        if not isinstance(node, Block) or node.is_root:
            return []
        producers = Scope(function).producers(node)
        if not producers:
            return []
        refusal = ""
        if len(producers) > 1:
            names = ", ".join(block.name for block in producers)
            refusal = f"{node.name} reads from {names}: it can only go into a single producer."
        elif any(it.kind == "reduction" for it in node.iters):
            refusal = f"{node.name} is a reduction: it has no single expression to inline."
        elif any(it.kind == "reduction" for it in producers[0].iters):
            refusal = (
                f"{producers[0].name} is a reduction: its result is final only after its loops."
            )
        return [
            Offer(
                op="reverse_compute_inline",
                label="Inline into its producer",
                group=cls.MENU,
                step=None if refusal else cls(node.ref),
                refusal=refusal,
            )
        ]
