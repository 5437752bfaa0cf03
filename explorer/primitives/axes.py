"""What thread axes may not do together; TVM 0.27 lets all of it pass and builds wrong kernels.

A kernel is what the outermost bound loop encloses.  The rules are the same at the control (on the
nest, before a click) and in the engine (on the module, after a step), so both give one sentence.

Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", the same
for every compute capability since 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from explorer.errors import Refusal
from explorer.model.nest import Block, Function, Loop

MAX_THREADS_PER_BLOCK = 1024
LIMITS = {
    "threadIdx.x": 1024,
    "threadIdx.y": 1024,
    "threadIdx.z": 64,
    "blockIdx.x": 2**31 - 1,
    "blockIdx.y": 65535,
    "blockIdx.z": 65535,
}


@dataclass
class BoundLoop:
    """A loop on a thread axis, and the bound loops below it; `extent` None when not constant."""

    axis: str
    extent: int | None
    name: str
    children: list[BoundLoop] = field(default_factory=list)
    id: str = ""
    """Tells loops of one name apart."""
    uses: list[frozenset[str]] = field(default_factory=list)
    """For each block below: the ids of the bound loops its iterators depend on."""

    def all(self) -> Iterator[BoundLoop]:
        """This loop and every bound loop below it, in pre-order."""
        yield self
        for child in self.children:
            yield from child.all()


def kernels_of(function: Function, also: tuple[str, str] | None = None) -> list[BoundLoop]:
    """The outermost bound loops of `function`, each a kernel.

    `also` is a node id and an axis: the nest as if that loop were bound to it.
    """
    by_id = {node.id: node for node in function.nodes}

    def visit(ids: tuple[str, ...], known: Known, uses: Uses) -> list[BoundLoop]:
        found: list[BoundLoop] = []
        for node_id in ids:
            node = by_id[node_id]
            axis = node.binding if isinstance(node, Loop) else None
            if also is not None and node_id == also[0]:
                axis = also[1]
            below: Uses = []
            if isinstance(node, Loop):
                own = {node.name: frozenset([node_id] if axis else [])}
                inner = visit(node.children, {**known, **own}, below)
            elif isinstance(node, Block):
                iters = {it.name: _depends(it.value, known) for it in node.iters}
                below.append(frozenset().union(*iters.values(), _depends(node.predicate, known)))
                inner = visit(node.children, {**known, **iters}, below)
            else:
                inner = visit(node.children, known, below)
            uses += below
            if isinstance(node, Loop) and axis:
                loop = BoundLoop(axis, node.extent_value, node.name, inner, node_id, below)
                found.append(loop)
            else:
                found += inner
        return found

    return visit(function.roots, {}, [])


Uses = list[frozenset[str]]
Known = dict[str, frozenset[str]]
"""Bound loops by the name of a loop or block iterator that depends on them."""


def _depends(text: str | None, known: Known) -> frozenset[str]:
    """The bound loops that an expression's names lead to."""
    names = re.findall(r"[A-Za-z_]\w*", text or "")
    return frozenset().union(*(known.get(name, frozenset()) for name in names))


def violations(kernels: list[BoundLoop]) -> list[Refusal]:
    """Everything in `kernels` that can never be right, in order."""
    found: list[Refusal] = []
    for kernel in kernels:
        found += _twice_on_a_path(kernel, {})
        found += _extents(kernel)
    return found


def new_violation(before: list[Refusal], after: list[Refusal]) -> Refusal | None:
    """The first of `after` that was not there before a step; None when the step added nothing."""
    left = list(before)
    for refusal in after:
        if refusal in left:
            left.remove(refusal)
        else:
            return refusal
    return None


def _twice_on_a_path(loop: BoundLoop, above: dict[str, BoundLoop]) -> list[Refusal]:
    """One axis on two loops that one block depends on.

    A block that depends on the inner loop only is right: all threads share that work, as in a
    cooperative copy to shared memory.
    """
    found = []
    virtual = loop.axis.startswith("vthread")
    outer = None if virtual else above.get(loop.axis)
    if outer is not None and any({outer.id, loop.id} <= used for used in loop.uses):
        found.append(
            Refusal(
                what=f"{loop.axis} would be on two loops of one path: "
                f"{outer.name} and {loop.name} inside it.",
                why="Both would have the same value, so only the diagonal would be computed.",
                do="Bind them to different axes, or fuse them first.",
            )
        )
    below = above if virtual else {**above, loop.axis: loop}
    return found + [item for child in loop.children for item in _twice_on_a_path(child, below)]


def _extents(kernel: BoundLoop) -> list[Refusal]:
    first: dict[str, BoundLoop] = {}
    found: list[Refusal] = []
    for loop in kernel.all():
        if loop.axis.startswith("vthread") or loop.extent is None:
            continue
        limit = LIMITS.get(loop.axis)
        if limit is not None and loop.extent > limit:
            found.append(
                Refusal(
                    what=f"{loop.name} has {loop.extent} iterations: too many for {loop.axis}.",
                    why=f"CUDA allows {limit}.",
                    do="Split the loop first, or bind it to another axis.",
                )
            )
        known = first.setdefault(loop.axis, loop)
        if known.extent is not None and known.extent != loop.extent:
            found.append(
                Refusal(
                    what=f"{loop.axis} would have two extents in one kernel: "
                    f"{known.extent} for {known.name} and {loop.extent} for {loop.name}.",
                    why="A kernel is launched with one size for each axis.",
                    do=f"Split the loop of {max(known.extent, loop.extent)} by "
                    f"{min(known.extent, loop.extent)} first, and bind the inner part.",
                )
            )
    threads = [loop for axis, loop in first.items() if axis.startswith("threadIdx")]
    total = 1
    for loop in threads:
        total *= loop.extent or 1
    if total > MAX_THREADS_PER_BLOCK and len(threads) > 1:
        sizes = " × ".join(f"{loop.extent} ({loop.name})" for loop in threads)
        found.append(
            Refusal(
                what=f"A block would have {total} threads: {sizes}.",
                why=f"CUDA allows {MAX_THREADS_PER_BLOCK} threads in a block.",
                do="Split one of these loops smaller before it is bound.",
            )
        )
    return found
