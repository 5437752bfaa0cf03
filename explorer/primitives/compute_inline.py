"""compute_inline: a block's expression goes into its consumers."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field
from explorer.primitives.scope import Scope


class ComputeInline(Step, frozen=True, tag="compute_inline"):
    """Put a block's expression into the blocks that read it; the block and its buffer go away.

    Before:
        B[vi] = A[vi] * 2
        C[vi] = B[vi] + 1
    After `sch.compute_inline(B)`:
        C[vi] = A[vi] * 2 + 1
    """

    MENU: ClassVar[str] = "Move the block"
    form: ClassVar[tuple[Field, ...]] = (BlockField("block", "Block"),)

    block: BlockRef

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """For a block whose result others read."""
        if not isinstance(node, Block) or node.is_root:
            return []
        scope = Scope(function)
        if not scope.consumers(node):
            return []
        refusal = ""
        if scope.is_output(node):
            refusal = f"{node.name} writes an argument of {function.name}, which must stay."
        elif any(it.kind == "reduction" for it in node.iters):
            refusal = f"{node.name} is a reduction: it has no single expression to inline."
        elif len(node.writes) != 1:
            refusal = f"{node.name} writes {len(node.writes)} buffers: only one can be inlined."
        return [
            Offer(
                op="compute_inline",
                label="Inline into its readers",
                group=cls.MENU,
                step=None if refusal else cls(node.ref),
                key="" if refusal else "i",
                refusal=refusal,
            )
        ]
