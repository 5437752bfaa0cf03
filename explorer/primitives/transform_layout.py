"""transform_layout: another layout for a buffer."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.nest import Block, Function, Node
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Resolver, Step
from explorer.primitives.fields import (
    BlockField,
    Field,
    FlagField,
    SlotField,
    TextField,
    ValueField,
)


class TransformLayout(Step, frozen=True, tag="transform_layout"):
    """Lay a buffer out anew: `index_map` says where each element goes.

    Before:
        A = T.sblock_alloc_buffer((64, 64))
    After `sch.transform_layout(B, ("read", 0), lambda i, j: (i // 16, j, i % 16))`:
        A = T.sblock_alloc_buffer((4, 64, 16))
    """

    MENU: ClassVar[str] = "Layout"
    form: ClassVar[tuple[Field, ...]] = (
        BlockField("block", "Block"),
        SlotField("buffer", "Buffer"),
        TextField("index_map", "New index", examples=("lambda i, j: (j, i)",)),
        ValueField("pad_value", "Value of padding"),
        FlagField("assume_injective_transform", "Don't check that it is one to one"),
    )

    block: BlockRef
    buffer: tuple[str, int] | str
    index_map: str
    pad_value: int | float | str | None = None
    assume_injective_transform: bool = False

    def argument(self, live: Resolver, name: str, value: Any) -> Any:
        """Texts become index maps; TVM wants the buffer as a tuple."""
        if name == "index_map" or (name == "pad_value" and isinstance(value, str)):
            return live.index_map(value, self.block)
        return value if name == "buffer" else super().argument(live, name, value)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for each buffer of the function's own that the block reads or writes."""
        if not isinstance(node, Block) or node.is_root:
            return []
        own = {buffer.name for buffer in function.buffers if not buffer.param}
        return [
            Offer(
                op="transform_layout",
                label=f"Lay out {access.buffer} anew ({side})…",
                group=cls.MENU,
                known={"block": node.ref, "buffer": (side, at)},
            )
            for side, accesses in (("read", node.reads), ("write", node.writes))
            for at, access in enumerate(accesses)
            if access.buffer in own
        ]
