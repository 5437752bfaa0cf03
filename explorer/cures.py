"""One-click cures of findings as steps: what `bind:<node id>` comes to."""

from __future__ import annotations

from explorer.analysis.nests import below, path
from explorer.model.nest import Function, Loop
from explorer.model.refs import LoopRef
from explorer.primitives import STEPS, Step

THREADS = 128
"""Threads of a block that a bound loop is given when it is long enough."""


def cure_steps(function: Function, cure_id: str) -> tuple[Step, ...]:
    """The steps of a "bind:" cure: () when the loop is gone, can't be bound, or no axis is free.

    A loop with bound loops below or above gets the next free block axis; else it is split over
    blocks and threads, or given threads alone when it is short.
    """
    kind, _, node_id = cure_id.partition(":")
    loop = function.node(node_id)
    if kind != "bind" or not isinstance(loop, Loop) or loop.ref is None:
        return ()
    around = (*path(function, loop), *below(function, loop))
    taken = {node.binding for node in around if isinstance(node, Loop) and node.binding}
    free = next((f"blockIdx.{a}" for a in "xyz" if f"blockIdx.{a}" not in taken), None)
    bind, split = STEPS["bind"], STEPS["split"]
    if taken:
        return (bind(loop.ref, free),) if free else ()
    if loop.extent_value is not None and loop.extent_value <= THREADS:
        return (bind(loop.ref, "blockIdx.x"),)
    ref = loop.ref
    outer, inner = LoopRef(ref.block, ref.depth), LoopRef(ref.block, ref.depth + 1)
    return (
        split(ref, (None, THREADS)),
        bind(outer, "blockIdx.x"),
        bind(inner, "threadIdx.x"),
    )
