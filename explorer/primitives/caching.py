"""What cache_read and cache_write share: a copy of a buffer in faster memory."""

from __future__ import annotations

from collections.abc import Callable

from explorer.model.nest import Access, Block, Function
from explorer.model.refs import BlockRef
from explorer.primitives.base import Offer, Step
from explorer.primitives.fields import BlockField, Field, ListField, ScopeField

MENU = "Cache"
AFTER_THE_BUFFER: tuple[Field, ...] = (
    ScopeField("storage_scope", "Memory"),
    ListField("consumer_blocks", "Only for these readers", item=BlockField("block", "Block")),
)


def offers_in(
    memories: tuple[str, str], cls: Callable[[BlockRef, int, str], Step], op: str,
    function: Function, node: Block, accesses: tuple[Access, ...], label: str, key: str,
) -> list[Offer]:  # fmt: skip
    """One offer for each buffer accessed and each of `memories` that it is not in yet.

    `label` has places for {buffer} and {scope}; `key` goes to the first memory of the first buffer.
    """
    scopes = {buffer.name: buffer.scope for buffer in function.buffers}
    return [
        Offer(
            op=op,
            label=label.format(buffer=access.buffer, scope=scope),
            group=MENU,
            step=cls(node.ref, at, scope),
            key=key if at == 0 and scope == memories[0] else "",
        )
        for at, access in enumerate(accesses)
        for scope in memories
        if scopes.get(access.buffer) != scope
    ]
