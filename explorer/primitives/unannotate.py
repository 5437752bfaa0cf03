"""unannotate: a hint taken away."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Loop, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, NodeField, TextField


class Unannotate(Step, frozen=True, tag="unannotate"):
    """Take an annotation away from a block or loop.

    Before:
        for k in T.serial(64, annotations={"pragma_unroll_explicit": 1}):
    After `sch.unannotate(k, "pragma_unroll_explicit")`:
        for k in range(64):
    """

    MENU: ClassVar[str] = "Annotate"
    form: ClassVar[tuple[Field, ...]] = (
        NodeField("block_or_loop", "Block or loop"),
        TextField("ann_key", "Name"),
    )

    block_or_loop: BlockRef | LoopRef
    ann_key: str

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """One per annotation there is."""
        if isinstance(node, Block):
            ref: BlockRef | LoopRef = node.ref
        elif isinstance(node, Loop) and node.ref is not None:
            ref = node.ref
        else:
            return []
        return [
            Offer(op="unannotate", label=f"Remove {key}", group=cls.MENU, step=cls(ref, key))
            for key, _ in node.annotations
        ]
