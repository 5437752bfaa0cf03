"""One-click cures of findings as steps: what `bind:<node id>` and `bind:` (the module) come to.

A nest without a bound loop becomes one kernel: its spatial loops are brought together, spread over
blocks of 128 threads, and buffers that live only inside of it are kept by each thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from explorer.analysis.nests import below, bound, on_host, regions
from explorer.model.nest import Block, Function, Loop, Nest, Node
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, Step
from explorer.primitives.scope import Scope

Steps = tuple[Step, ...]
Level = Literal["wide", "plain"]
LEVELS: tuple[Level, ...] = ("wide", "plain")
"""Ways to bind, best first: all spatial loops together; the outermost one alone."""

BIND = "bind:"
"""The cure that binds whatever is unbound in the module."""
THREADS = 128
"""Threads of a block that a bound loop is given when it is long enough."""
INDEX_LIMIT = 2**31
"""Iterations from which on a fused 32-bit loop would overflow."""


def offered(cure_ids: Iterable[str]) -> tuple[str, ...]:
    """Cures as they are offered for a module: each once, with one for all that is to be bound."""
    return tuple(dict.fromkeys(BIND if i.startswith(BIND) else i for i in cure_ids))


def sick_nests(nest: Nest) -> tuple[str, ...]:
    """The "bind:<node id>" cure of every nest of the module that has work in no kernel."""
    return tuple(
        f"{BIND}{tree.id}"
        for function in nest.functions
        if function.kind == "prim" and function.schedulable and not function.host
        for tree in _sick_trees(function)
    )


def cure_steps(function: Function, cure_id: str, level: Level = "wide") -> Steps:
    """The steps of a "bind:<node id>" cure: () when the node is gone or its nest can't be bound."""
    _, _, node_id = cure_id.partition(":")
    for tree in _sick_trees(function):
        if node_id == tree.id or node_id.startswith(tree.id + "/"):
            return _bound_tree(function, tree, level)
    return ()


def _sick_trees(function: Function) -> list[Node]:
    """Top-level loops and blocks with work that is in no kernel, or with a loop around one."""
    host = [block.id for block in on_host(function)]
    kernels = [region.root.id for region in regions(function)]
    trees = [n for n in function.nodes if n.id in function.roots]
    trees = [
        child
        for tree in trees
        for child in (
            [n for n in function.nodes if n.id in tree.children]
            if isinstance(tree, Block) and tree.is_root
            else [tree]
        )
    ]
    return [
        tree
        for tree in trees
        if any(i == tree.id or i.startswith(tree.id + "/") for i in host)
        or any(i.startswith(tree.id + "/") for i in kernels)
    ]


def _bound_tree(function: Function, tree: Node, level: Level) -> Steps:
    if any(bound(node) for node in below(function, tree)):
        return _host_loops(function, tree)
    if isinstance(tree, Block):
        return () if tree.is_root else _single_thread(tree.ref) + _private(function, tree)
    if not isinstance(tree, Loop) or tree.ref is None:
        return ()
    chain = _chain(function, tree)
    spatial = [loop for loop in chain if loop.kind == "spatial"]
    whole = len(_blocks(function, tree)) == 1
    if level == "wide" and whole and spatial:
        return _spread(chain, spatial) + _private(function, tree)
    if tree.kind == "spatial":
        run = chain[: next((n for n, x in enumerate(chain) if x not in spatial), len(chain))]
        run = run if level == "wide" else run[:1]
        return _spread(run, run) + _private(function, tree)
    if not whole:
        return ()
    if level == "wide" and all(loop.kind == "reduction" for loop in chain):
        return _threads_reduce(chain) + _private(function, tree)
    return _single_thread(tree.ref) + _private(function, tree)


def _spread(chain: list[Loop], spatial: list[Loop]) -> Steps:
    """`spatial` loops of `chain` in front, as one loop, over blocks and threads."""
    block, first = _ref(chain[0]).block, _ref(chain[0]).depth
    steps: list[Step] = []
    if spatial != chain[: len(spatial)]:
        others = [loop for loop in chain if loop not in spatial]
        steps.append(STEPS["reorder"](tuple(_ref(loop) for loop in (*spatial, *others))))
    count = _iterations(spatial)
    if count is not None and count >= INDEX_LIMIT:
        count, spatial = spatial[0].extent_value, spatial[:1]
    if len(spatial) > 1:
        steps.append(STEPS["fuse"](tuple(LoopRef(block, first + n) for n in range(len(spatial)))))
    return (*steps, *_split_and_bind(LoopRef(block, first), count))


def _split_and_bind(loop: LoopRef, count: int | None) -> Steps:
    threads = THREADS if count is None else max(1, min(count, THREADS))
    return (
        STEPS["split"](loop, (None, threads)),
        STEPS["bind"](LoopRef(loop.block, loop.depth), "blockIdx.x"),
        STEPS["bind"](LoopRef(loop.block, loop.depth + 1), "threadIdx.x"),
    )


def _threads_reduce(chain: list[Loop]) -> Steps:
    """A reduction to one element: the threads of one block add up together."""
    block, first = _ref(chain[0]).block, _ref(chain[0]).depth
    loop = LoopRef(block, first)
    steps: list[Step] = []
    if len(chain) > 1:
        steps.append(STEPS["fuse"](tuple(_ref(each) for each in chain)))
    count = _iterations(chain)
    threads = THREADS if count is None else max(1, min(count, THREADS))
    return (
        *steps,
        STEPS["split"](loop, (None, threads)),
        STEPS["bind"](LoopRef(block, first + 1), "threadIdx.x"),
        STEPS["add_unit_loop"](loop),
        STEPS["bind"](loop, "blockIdx.x"),
    )


def _single_thread(around: BlockRef | LoopRef) -> Steps:
    """One block of one thread: right, and slow when there is much to do."""
    block = around if isinstance(around, BlockRef) else around.block
    depth = 0 if isinstance(around, BlockRef) else around.depth
    unit = LoopRef(block, depth)
    again: BlockRef | LoopRef = unit
    return (
        STEPS["add_unit_loop"](around),
        STEPS["add_unit_loop"](again),
        STEPS["bind"](unit, "blockIdx.x"),
        STEPS["bind"](LoopRef(block, depth + 1), "threadIdx.x"),
    )


def _host_loops(function: Function, tree: Node) -> Steps:
    """Spatial loops around kernels become the block axes that the kernels leave free."""
    taken = {n.binding for n in below(function, tree) if isinstance(n, Loop) and n.binding}
    free = [f"blockIdx.{axis}" for axis in "xyz" if f"blockIdx.{axis}" not in taken]
    roots = [region.root.id for region in regions(function)]
    loops = [
        node
        for node in below(function, tree)
        if isinstance(node, Loop) and node.ref is not None and node.kind == "spatial"
        and not bound(node) and any(root.startswith(node.id + "/") for root in roots)
    ]  # fmt: skip
    if len(loops) > len(free):
        return ()
    return tuple(STEPS["bind"](_ref(loop), axis) for loop, axis in zip(loops, free, strict=False))


def _private(function: Function, tree: Node) -> Steps:
    """Buffers in global memory that only the nest uses: a kernel can't allocate them there."""
    inside = _blocks(function, tree)
    outside = {
        access.buffer
        for block in function.nodes
        if isinstance(block, Block) and not block.is_root and block not in inside
        for access in (*block.reads, *block.writes)
    }
    own = {b.name for b in function.buffers if not b.param and b.scope == "global"} - outside
    steps: dict[str, Step] = {}
    for block in inside:
        for n, access in enumerate(block.writes):
            if access.buffer in own and access.buffer not in steps:
                steps[access.buffer] = STEPS["set_scope"](block.ref, n, "local")
    return tuple(steps.values())


def _chain(function: Function, loop: Loop) -> list[Loop]:
    """`loop` and the loops below it, as long as each is all that the one before it holds."""
    scope, found = Scope(function), [loop]
    inner = scope.only_child_loop(loop)
    while inner is not None and inner.ref is not None and not inner.inside_block:
        found.append(inner)
        inner = scope.only_child_loop(inner)
    return found


def _blocks(function: Function, tree: Node) -> list[Block]:
    return [n for n in below(function, tree) if isinstance(n, Block) and not n.is_root]


def _iterations(loops: list[Loop]) -> int | None:
    total = 1
    for loop in loops:
        if loop.extent_value is None:
            return None
        total *= loop.extent_value
    return total


def _ref(loop: Loop) -> LoopRef:
    assert loop.ref is not None, "a loop around a block has a reference"
    return loop.ref
