"""annotate: a hint for later passes."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Block, Function, Loop, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import Field, NodeField, TextField, ValueField

KEYS = (
    "pragma_auto_unroll_max_step",
    "pragma_unroll_explicit",
    "software_pipeline_stage",
    "software_pipeline_order",
    "double_buffer_scope",
)


class Annotate(Step, frozen=True, tag="annotate"):
    """Attach a named value to a block or loop, which a later pass reads.

    Before:
        for k in range(64):
    After `sch.annotate(k, "pragma_auto_unroll_max_step", 16)`:
        for k in T.serial(64, annotations={"pragma_auto_unroll_max_step": 16}):
    """

    MENU: ClassVar[str] = "Annotate"
    form: ClassVar[tuple[Field, ...]] = (
        NodeField("block_or_loop", "Block or loop"),
        TextField("ann_key", "Name", examples=KEYS),
        ValueField("ann_val", "Value", "A number, a text, or a list like [0, 0, 1]."),
    )

    block_or_loop: BlockRef | LoopRef
    ann_key: str
    ann_val: bool | int | float | str | tuple[bool | int | float | str, ...]

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form, for a block or a loop above one."""
        if isinstance(node, Block):
            ref: BlockRef | LoopRef = node.ref
        elif isinstance(node, Loop) and node.ref is not None:
            ref = node.ref
        else:
            return []
        known = {"block_or_loop": ref}
        return [Offer(op="annotate", label="Annotate…", group=cls.MENU, known=known)]
