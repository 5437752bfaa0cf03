"""What a block of TensorIR reads and writes, on plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.model.refs import BlockRef


@dataclass(frozen=True, kw_only=True)
class Touch:
    """One access in a block's body: the buffer, its index as text, and the iterators of each dim.

    Names of buffers repeat; `identity` tells them apart.
    """

    buffer: str
    identity: int
    index: tuple[str, ...]
    iters: tuple[frozenset[str], ...]


@dataclass(frozen=True, kw_only=True)
class Store:
    """One store of a block's body (not of its init) and the loads its value is made of."""

    target: Touch
    dtype: str
    scope: str
    loads: tuple[Touch, ...]

    @property
    def own(self) -> tuple[Touch, ...]:
        """Loads of the buffer that is stored to."""
        return tuple(load for load in self.loads if load.identity == self.target.identity)


@dataclass(frozen=True, kw_only=True)
class BlockFacts:
    """A computing block: its iterators with more than one value by kind, stores and loads.

    `flops` are the floating-point operations of one iteration.
    """

    ref: BlockRef
    spatial: frozenset[str]
    reduction: frozenset[str]
    stores: tuple[Store, ...]
    loads: tuple[Touch, ...]
    has_init: bool
    index_dtypes: frozenset[str]
    flops: float
    twice: tuple[tuple[str, str, str], ...] = ()
    """Axis, outer and inner loop, where both loops on one axis are in the block's iterators."""


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """A read of elements that the reader's thread (or block) did not write itself."""

    buffer: str
    scope: str
    reader: BlockRef
    writer: BlockRef
    element: tuple[int, ...]
    among: Literal["threads", "blocks"]
    """Whose elements they are: another thread's or another block's."""


@dataclass(frozen=True, kw_only=True)
class FunctionFacts:
    """The computing blocks of a function in pre-order, and what running their indices showed.

    `statement_buffers` are buffers made by T.alloc_buffer, a statement, not by the block's own.
    """

    blocks: tuple[BlockFacts, ...] = ()
    unseen: tuple[Unseen, ...] = ()
    statement_buffers: tuple[str, ...] = ()
