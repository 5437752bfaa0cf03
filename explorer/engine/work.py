"""What the kernels of a function have to do, counted from its blocks: operations and bytes.

Bytes are compulsory traffic: each distinct element that a kernel reads or writes in global memory,
once.  What is read after the kernel itself wrote it does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from tvm import tirx

from explorer.analysis.nests import is_thread_axis
from explorer.engine.blocks import Leaf, axis_of, facts, leaves
from explorer.engine.lanes import Array, Env, evaluate, key, single
from explorer.engine.sample import item_bytes
from explorer.engine.touch import Use, uses
from explorer.model.analysis import Work

POINTS = 2**20
"""Most points of a block's domain that are enumerated together."""


def work_of(
    original: tirx.PrimFunc, scheduled: tirx.PrimFunc, name: str, sizes: dict[str, int]
) -> tuple[Work, ...]:
    """The work of each kernel of a function, in pre-order of the scheduled function.

    With one kernel it is counted on the function as it came: that is what must be done, however it
    is scheduled (and an intrinsic hides no operations there).
    """
    kernels = list(_kernels(leaves(scheduled, name)))
    if len(kernels) == 1:
        return (whole_work(original, name, sizes),)
    return tuple(_work(group, sizes, set()) for group in kernels)


def whole_work(original: tirx.PrimFunc, name: str, sizes: dict[str, int]) -> Work:
    """All the work of a function as it came, however it is scheduled."""
    everything = leaves(original, name)
    inside = {key(buffer) for buffer in _allocated(everything, original)}
    return _work(everything, sizes, inside)


def _kernels(found: list[Leaf]) -> Iterator[list[Leaf]]:
    groups: dict[int, list[Leaf]] = {}
    for leaf in found:
        top = next((loop for loop in leaf.loops if is_thread_axis(axis_of(loop))), None)
        if top is not None:
            groups.setdefault(key(top), []).append(leaf)
    yield from groups.values()


def _allocated(found: list[Leaf], func: tirx.PrimFunc) -> list[Any]:
    """Buffers that are not arguments."""
    arguments = {key(param) for param in func.params}
    buffers: dict[int, Any] = {}
    for leaf in found:
        for use in uses(leaf.block.body, Env(1), np.ones((1, 1, 1), bool)):
            if key(use.buffer) not in arguments:
                buffers[key(use.buffer)] = use.buffer
    return list(buffers.values())


def _work(found: list[Leaf], sizes: dict[str, int], inside: set[int]) -> Work:
    flops = 0.0
    half = False
    left_out: dict[str, None] = {}
    # Elements by buffer and direction: the largest set that one access touches is a lower bound
    # of the union of all of them.
    bytes_of: dict[tuple[int, str], int] = {}
    written: set[int] = set()
    for leaf in found:
        env = Env(1, sizes)
        extents = [single(item.dom.extent, env) for item in leaf.block.iter_vars]
        if None in extents:
            left_out[f"block {leaf.ref.name}"] = None
            continue
        flops += facts(leaf, env).flops * prod(extent or 0 for extent in extents)
        for use, count in _counted(leaf, [extent or 0 for extent in extents], sizes):
            buffer = key(use.buffer)
            half = half or str(use.buffer.dtype).startswith(("float16", "bfloat16"))
            if str(use.buffer.scope()) not in ("", "global") or buffer in inside:
                continue
            if count is None:
                left_out[f"{use.kind} of {use.buffer.name}"] = None
            elif use.kind == "store" or buffer not in written:
                at = (buffer, use.kind)
                nbytes = count * item_bytes(str(use.buffer.dtype))
                bytes_of[at] = max(bytes_of.get(at, 0), nbytes)
            if use.kind == "store":
                written.add(buffer)
    return Work(
        flops=flops,
        read_bytes=sum(n for (_, kind), n in bytes_of.items() if kind == "load"),
        written_bytes=sum(n for (_, kind), n in bytes_of.items() if kind == "store"),
        half_inputs=half,
        left_out=tuple(left_out),
    )


def _counted(
    leaf: Leaf, extents: list[int], sizes: dict[str, int]
) -> Iterator[tuple[Use, int | None]]:
    """Each access of a block's body with its number of distinct elements, None when unknown.

    An update's read of its own element is left out: with T.init it is no traffic.
    """
    variables = [item.var for item in leaf.block.iter_vars]
    small = prod(extents) <= POINTS
    env = _enumerate(variables, extents, sizes) if small else Env(1, sizes)
    stored = {key(use.buffer) for use in uses(leaf.block.body, env.child(), _true())
              if use.kind == "store"}  # fmt: skip
    for use in uses(leaf.block.body, env, _true()):
        if use.kind == "address":
            yield use, None
        elif use.kind == "store" or key(use.buffer) not in stored:
            if small:
                yield use, _distinct(use, sizes) if use.sure else None
            else:
                yield use, _by_dimension(use, variables, extents, sizes)


def _true() -> Array:
    return np.ones((1, 1, 1), bool)


def _enumerate(variables: list[Any], extents: list[int], sizes: dict[str, int]) -> Env:
    """An environment with every combination of the variables as a sample."""
    env = Env(prod(extents), sizes)
    numbers = np.arange(env.rows).reshape(-1, 1, 1)
    for variable, extent in zip(reversed(variables), reversed(extents), strict=True):
        env.set(variable, numbers % max(extent, 1))
        numbers = numbers // max(extent, 1)
    return env


def _distinct(use: Use, sizes: dict[str, int]) -> int | None:
    """How many elements inside the buffer one access touches in its environment."""
    values = use.index()
    if any(value is None for value in values):
        return None
    shape = [single(size, Env(1, sizes)) for size in use.buffer.shape]
    inside: Array = use.where
    flat: Array = np.zeros((1, 1, 1), np.int64)
    for value, size in zip(values, shape, strict=True):
        if size is None or value is None:
            return None
        inside = inside & (value >= 0) & (value < size)
        flat = flat * size + value
    flat, inside = np.broadcast_arrays(flat, inside)
    return len(np.unique(flat[inside]))


def _by_dimension(
    use: Use, variables: list[Any], extents: list[int], sizes: dict[str, int]
) -> int | None:
    """The same for large domains: dimensions that share no iterator are counted one by one."""
    if not use.sure or not bool(np.all(use.where)):
        return None
    groups: list[tuple[set[int], list[int]]] = []
    for place, index in enumerate(use.indices):
        used = {
            n for n, variable in enumerate(variables)
            if any(variable.same_as(var) for var in tirx.analysis.undefined_vars(index))
        }  # fmt: skip
        same = [group for group in groups if group[0] & used]
        groups = [group for group in groups if not group[0] & used]
        groups.append((
            used.union(*(g[0] for g in same)), [place, *(p for g in same for p in g[1])],
        ))  # fmt: skip
    total = 1
    for used, places in groups:
        some = sorted(used)
        if prod(extents[n] for n in some) > POINTS:
            return None
        env = _enumerate([variables[n] for n in some], [extents[n] for n in some], sizes)
        rows: list[Array] = []
        for place in places:
            value = evaluate(use.indices[place], env)
            size = single(use.buffer.shape[place], env)
            if value is None or size is None:
                return None
            clipped = np.where((value >= 0) & (value < size), value, -1)
            rows.append(np.broadcast_to(clipped, (env.rows, 1, 1)).reshape(-1))
        table = np.stack(rows, axis=1)
        total *= len(np.unique(table[(table >= 0).all(axis=1)], axis=0))
    return total
