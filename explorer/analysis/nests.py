"""Questions about a loop nest: paths, the kernels in it, and what lies outside of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.model.nest import Block, Function, Loop, Node

AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")


def is_thread_axis(axis: str | None) -> bool:
    """`axis` is one of CUDA's six; virtual threads are ordinary loops in the end."""
    return axis in AXES


def bound(node: Node) -> bool:
    """`node` is a loop that starts or belongs to a kernel."""
    return isinstance(node, Loop) and node.mode == "bound" and not is_virtual(node.binding)


def is_virtual(axis: str | None) -> bool:
    """`axis` is a virtual thread."""
    return axis is not None and axis.startswith("vthread")


def path(function: Function, node: Node) -> tuple[Node, ...]:
    """The nodes around `node`, outermost first, `node` itself left out."""
    found = []
    parts = node.id.split("/")
    for end in range(2, len(parts)):
        above = function.node("/".join(parts[:end]))
        if above is not None:
            found.append(above)
    return tuple(found)


def below(function: Function, node: Node) -> Iterator[Node]:
    """`node` and everything under it, in pre-order."""
    yield from (n for n in function.nodes if n.id == node.id or n.id.startswith(node.id + "/"))


def loops_on_path(function: Function, node: Node) -> tuple[Loop, ...]:
    """The loops around `node`, outermost first."""
    return tuple(n for n in path(function, node) if isinstance(n, Loop))


def leaf_blocks(function: Function) -> Iterator[Block]:
    """Blocks that hold no other block: the ones that compute."""
    for node in function.nodes:
        if isinstance(node, Block) and not any(
            isinstance(other, Block) and other.id.startswith(node.id + "/")
            for other in function.nodes
        ):
            yield node


@dataclass(frozen=True)
class Region:
    """A part of a function that becomes one kernel: an outermost bound loop and all below it."""

    function: Function
    root: Loop

    def nodes(self) -> Iterator[Node]:
        """All nodes of the kernel, in pre-order."""
        return below(self.function, self.root)

    def bound_loops(self) -> Iterator[Loop]:
        """The loops of the kernel that are bound to an axis of the GPU."""
        yield from (n for n in self.nodes() if isinstance(n, Loop) and bound(n))

    def axes(self) -> dict[str, list[Loop]]:
        """Each axis in use and the loops bound to it."""
        found: dict[str, list[Loop]] = {}
        for loop in self.bound_loops():
            found.setdefault(str(loop.binding), []).append(loop)
        return found

    def blocks(self) -> Iterator[Block]:
        """The computing blocks of the kernel."""
        yield from (b for b in leaf_blocks(self.function) if b.id.startswith(self.root.id + "/"))


def regions(function: Function) -> tuple[Region, ...]:
    """The kernels of `function`, in pre-order."""
    found: list[Region] = []
    for node in function.nodes:
        if isinstance(node, Loop) and bound(node):
            if not any(node.id.startswith(region.root.id + "/") for region in found):
                found.append(Region(function, node))
    return tuple(found)


def on_host(function: Function) -> tuple[Block, ...]:
    """Computing blocks with no bound loop around them: the CPU runs these."""
    return tuple(
        block
        for block in leaf_blocks(function)
        if not any(bound(node) for node in path(function, block))
        and not any(bound(node) for node in below(function, block))
    )
