"""The loop nest of a module as plain data: functions, loops, blocks and buffers.

Nodes form a tree per function; ids are paths (`main`, `main/0`, `main/0/1`): stable while the
shape above stays the same, so a selection survives most steps.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.model.refs import BlockRef, LoopRef

IterKind = Literal["spatial", "reduction", "opaque", "mixed"]
LoopMode = Literal["serial", "parallel", "vectorized", "unrolled", "bound"]


class Span(msgspec.Struct, frozen=True):
    """Lines of the printed TVMScript, 1-based and inclusive."""

    first: int
    last: int


class Access(msgspec.Struct, frozen=True):
    """A buffer region a block reads or writes, e.g. buffer "A", region "A[vi, 0:128]"."""

    buffer: str
    region: str


class Iter(msgspec.Struct, frozen=True):
    """A block iterator: name, domain extent, kind, and the expression it is bound to."""

    name: str
    extent: str
    kind: IterKind
    value: str


class Buffer(msgspec.Struct, frozen=True, kw_only=True):
    """A buffer of one function; `param` when it is an argument, else allocated in the function."""

    name: str
    shape: tuple[str, ...]
    dtype: str
    scope: str
    param: bool
    strides: tuple[str, ...] = ()
    nbytes: int | None = None
    """Bytes of the whole buffer where the shape is static."""


class Loop(msgspec.Struct, frozen=True, kw_only=True, tag="loop"):
    """A `for`: its name, extent and what it is turned into."""

    id: str
    name: str
    extent: str
    extent_value: int | None
    kind: IterKind
    mode: LoopMode
    binding: str | None
    """Thread axis, e.g. "blockIdx.x" or "vthread.x", when `mode` is "bound"."""
    annotations: tuple[tuple[str, str], ...]
    ref: LoopRef | None
    """None when no block lies below: such a loop can't be scheduled."""
    inside_block: bool
    """The loop is part of a block's body, not around a block: it can't be bound."""
    span: Span | None
    children: tuple[str, ...]


class Block(msgspec.Struct, frozen=True, kw_only=True, tag="block"):
    """A `T.sblock`: iterators, reads, writes, and what it allocates."""

    id: str
    name: str
    iters: tuple[Iter, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    has_init: bool
    predicate: str | None
    annotations: tuple[tuple[str, str], ...]
    allocates: tuple[str, ...]
    is_root: bool
    ref: BlockRef
    span: Span | None
    children: tuple[str, ...]


class Statement(msgspec.Struct, frozen=True, kw_only=True, tag="stmt"):
    """Code that is neither loop nor block, in a blockless or lowered function."""

    id: str
    text: str
    span: Span | None
    children: tuple[str, ...] = ()


Node = Loop | Block | Statement


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function of the module and its nest."""

    name: str
    kind: Literal["prim", "relax", "extern"]
    private: bool
    host: bool
    """Its own target is a CPU: no kernel is expected of it."""
    scheduled: bool
    """Carries `tirx.is_scheduled`."""
    params: tuple[str, ...]
    symbols: tuple[str, ...]
    """Symbolic sizes that need a value, e.g. ("n", "m")."""
    buffers: tuple[Buffer, ...]
    nodes: tuple[Node, ...]
    """All nodes in pre-order; the root block is left out unless it carries something of its own."""
    roots: tuple[str, ...]
    calls: tuple[str, ...] = ()
    """Functions it calls (Relax)."""
    span: Span | None = None
    schedulable: bool = True
    """False for Relax, blockless and lowered functions; `note` says why."""
    note: str = ""

    def node(self, node_id: str) -> Node | None:
        """The node of that id, or None when the nest no longer has it."""
        return next((node for node in self.nodes if node.id == node_id), None)


class Nest(msgspec.Struct, frozen=True):
    """All functions of a module, in the order the text has them."""

    functions: tuple[Function, ...]

    def function(self, name: str) -> Function | None:
        """The function of that name, or None."""
        return next((func for func in self.functions if func.name == name), None)
