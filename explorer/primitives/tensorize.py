"""tensorize: a subtree becomes one hardware instruction."""

from __future__ import annotations

from typing import Any, ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives.base import Offer, Resolver, Step
from explorer.primitives.fields import Field, FlagField, NodeField, TextField

INTRINSICS = (
    "wmma_load_16x16x16_f16_a_shared",
    "wmma_load_16x16x16_f16_b_shared",
    "wmma_sync_16x16x16_f16f16f32",
    "wmma_sync_16x16x16_f16f16f16",
    "wmma_fill_16x16x16_f32",
    "wmma_store_16x16x16_f32_shared",
    "dp4a_s8s8s32",
)


class Tensorize(Step, frozen=True, tag="tensorize"):
    """Replace everything under a loop or block by one hardware instruction of the same meaning.

    Before:
        for i, j, k in T.grid(16, 16, 16): [block C]
    After `sch.tensorize(i, "wmma_sync_16x16x16_f16f16f32")`:
        T.tvm_mma_sync(C, ..., A, ..., B, ...)
    """

    MENU: ClassVar[str] = "Tensorize"
    form: ClassVar[tuple[Field, ...]] = (
        NodeField("block_or_loop", "Block or loop"),
        TextField("tensor_intrin", "Instruction", examples=INTRINSICS),
        FlagField("preserve_unit_iters", "Keep iterators of extent 1"),
    )

    block_or_loop: BlockRef | LoopRef
    tensor_intrin: str
    preserve_unit_iters: bool = True

    def apply(self, live: Resolver) -> tuple[Any, ...]:
        """Make TVM's CUDA instructions known first; the first time takes seconds."""
        live.need_intrinsics()
        return super().apply(live)

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form for a loop above a block."""
        if not isinstance(node, Loop) or node.ref is None:
            return []
        known = {"block_or_loop": node.ref}
        return [Offer(op="tensorize", label="Tensorize…", group=cls.MENU, known=known)]
