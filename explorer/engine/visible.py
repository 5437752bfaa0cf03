"""Does every thread read only what it may see?  Decided by running the indices of the blocks.

For a buffer that is written and read in one kernel, the reader's place in the common loops is
fixed, and the elements it reads there are compared with those that are written there by the same
thread (local memory), the same block (shared memory), or the same thread (global memory, which has
no barrier inside a kernel).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from tvm import tirx

from explorer.analysis.blocks import Unseen
from explorer.engine.blocks import Leaf, axis_of
from explorer.engine.lanes import Array, Env, evaluate, key, scalar, single
from explorer.engine.touch import Use, uses

POINTS = 2**17
TRIES = 3


def unseen(leaves: list[Leaf], params: Iterable[Any], sizes: dict[str, int]) -> Iterator[Unseen]:
    """Reads of elements that the reader can't see, at most one per buffer and reader."""
    arguments = {key(param) for param in params}
    for kernel in _kernels(leaves):
        touched = {leaf.ref: list(_body(leaf, _start(sizes, 1), _true())) for leaf in kernel}
        by_address = {key(u.buffer) for found in touched.values() for u in found
                      if u.kind == "address"}  # fmt: skip
        buffers = {
            key(use.buffer): use.buffer
            for found in touched.values() for use in found if use.kind == "store"
        }  # fmt: skip
        for at, buffer in buffers.items():
            scope = str(buffer.scope())
            if scope not in ("local", "global", "") and not scope.startswith("shared"):
                continue
            writers = [leaf for leaf in kernel if _has(touched[leaf.ref], at, "store")]
            readers = [
                leaf for leaf in kernel
                if _has(touched[leaf.ref], at, "load") and leaf not in writers
            ]  # fmt: skip
            if at in by_address:
                continue
            for reader in readers:
                found = _check(buffer, reader, writers, sizes, at in arguments)
                if found is not None:
                    yield found


def _kernels(leaves: list[Leaf]) -> Iterator[list[Leaf]]:
    groups: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        top = next((loop for loop in leaf.loops if axis_of(loop)), None)
        if top is not None:
            groups.setdefault(key(top), []).append(leaf)
    yield from groups.values()


def _has(found: list[Use], at: int, kind: str) -> bool:
    return any(use.kind == kind and key(use.buffer) == at for use in found)


def _check(
    buffer: Any, reader: Leaf, writers: list[Leaf], sizes: dict[str, int], is_param: bool
) -> Unseen | None:
    scope = str(buffer.scope())
    shared = scope.startswith("shared")
    rng = np.random.default_rng(7)
    for attempt in range(TRIES):
        read = _elements(reader, buffer, "load", sizes, None, shared, attempt, rng)
        if read is None:
            return None
        elements, fixed = read
        mine: list[Array] = []
        for writer in writers:
            wrote = _elements(writer, buffer, "store", sizes, fixed, shared, attempt, rng)
            if wrote is None:
                return None
            mine.append(wrote[0])
        missing = np.setdiff1d(elements, np.concatenate(mine))
        if is_param and missing.size:
            # An argument may hold what the caller put there: only what this kernel writes counts.
            everything = _elements(writers[0], buffer, "store", sizes, {}, shared, attempt, rng)
            if everything is None:
                return None
            missing = np.intersect1d(missing, everything[0])
        if missing.size:
            return Unseen(
                buffer=str(buffer.name), scope=scope or "global", reader=reader.ref,
                writer=writers[0].ref, element=_unflatten(int(missing[0]), buffer, sizes),
                among="blocks" if shared else "threads",
            )  # fmt: skip
    return None


def _start(sizes: dict[str, int], rows: int) -> Env:
    return Env(rows, sizes)


def _true() -> Array:
    return np.ones((1, 1, 1), bool)


def _elements(
    leaf: Leaf, buffer: Any, kind: str, sizes: dict[str, int], fixed: dict[Any, int] | None,
    shared: bool, attempt: int, rng: np.random.Generator,
) -> tuple[Array, dict[Any, int]] | None:  # fmt: skip
    """Elements of `buffer` that `leaf` touches, and the values fixed for it.

    For a reader (`fixed` None) serial loops around are fixed too, at sampled values: they are
    common with the writer or make the set smaller, which is safe.  For a writer, a loop is fixed
    when the reader fixed the same loop or axis; all others are enumerated.
    """
    env = _start(sizes, 1)
    chosen: dict[Any, int] = {}
    across = _reduction_axes(leaf)
    for loop in leaf.loops:
        extent = single(loop.extent, env)
        start = single(loop.min, env)
        if extent is None or start is None or extent < 1:
            return None
        axis = axis_of(loop)
        name: Any = axis or key(loop)
        hold = not (shared and axis.startswith("threadIdx")) and axis not in across
        if fixed is None:
            if not hold:
                value = None
            else:
                value = (0, extent - 1)[attempt] if attempt < 2 else int(rng.integers(extent))
                chosen[name] = value
        else:
            value = fixed.get(name) if hold else None
            if value is not None and value >= extent:
                return np.zeros(0, np.int64), chosen
        if value is not None:
            env.set(loop.loop_var, scalar(start + value))
        elif env.rows * extent > POINTS:
            return None
        else:
            rows = env.rows
            env = env.repeat(extent)
            env.set(loop.loop_var, start + np.tile(np.arange(extent), rows).reshape(-1, 1, 1))
    sets = []
    for use in _body(leaf, env, _true()):
        if use.kind == kind and key(use.buffer) == key(buffer):
            flat = _flatten(use, buffer, sizes)
            if flat is None or (kind == "store" and not use.sure):
                return None
            if not use.sure:
                continue
            flat, where = np.broadcast_arrays(flat, use.where)
            sets.append(np.unique(flat[where]))
    return (np.unique(np.concatenate(sets)) if sets else np.zeros(0, np.int64)), chosen


def _reduction_axes(leaf: Leaf) -> set[str]:
    """Thread axes that a cross-thread reduction of this block runs over: all threads get it."""
    loops = {key(loop.loop_var): axis_of(loop) for loop in leaf.loops if axis_of(loop)}
    found: set[str] = set()
    for item, value in zip(leaf.block.iter_vars, leaf.realize.iter_values, strict=True):
        if int(item.iter_type) == 2:
            found.update(
                loops[key(var)] for var in tirx.analysis.undefined_vars(value) if key(var) in loops
            )
    return found


def _body(leaf: Leaf, env: Env, where: Array) -> Iterator[Use]:
    """The accesses of a block (init first) with its iterators bound; the predicate narrows."""
    sure = True
    for node in (*(n for n in leaf.around if not isinstance(n, tirx.For)), leaf.realize):
        for item, value in zip(node.block.iter_vars, node.iter_values, strict=True):
            env.set(item.var, evaluate(value, env))
        if not isinstance(node.predicate, tirx.IntImm):
            holds = evaluate(node.predicate, env)
            sure = sure and holds is not None
            if holds is not None:
                where = np.logical_and(where, holds.astype(bool))
    if leaf.block.init is not None:
        yield from uses(leaf.block.init, env.child(), where, sure)
    yield from uses(leaf.block.body, env, where, sure)


def _flatten(use: Use, buffer: Any, sizes: dict[str, int]) -> Array | None:
    env = _start(sizes, 1)
    flat: Array = scalar(0)
    for index, size in zip(use.index(), buffer.shape, strict=True):
        extent = single(size, env)
        if index is None or extent is None:
            return None
        flat = flat * extent + index
    return flat


def _unflatten(element: int, buffer: Any, sizes: dict[str, int]) -> tuple[int, ...]:
    env = _start(sizes, 1)
    index: list[int] = []
    for size in reversed(list(buffer.shape)):
        extent = single(size, env) or 1
        index.insert(0, element % extent)
        element //= extent
    return tuple(index)
