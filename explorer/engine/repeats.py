"""Which stores of a kernel have several threads write one element."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import tirx

from explorer.analysis.kernel import Bools, Duplicate, Extents
from explorer.engine.lanes import Array, Env, spread
from explorer.engine.touch import Use
from explorer.engine.walk import Walk

POINTS = 2**18
"""Most thread-and-loop points enumerated."""
MOST = 64
"""Stores looked at in one kernel; very long unrolled code repeats itself."""


class WholeBlocks(Walk):
    """All threads of a few neighbouring blocks; loops are enumerated as far as POINTS allows.

    Other loops take their first value for every thread.
    """

    def find(self, grid: Extents, block: Extents) -> tuple[Duplicate, ...]:
        """The stores in question; extents must be known and positive."""
        self.found: list[Duplicate] = []
        self.seen = 0
        gx, gy, gz = (size or 1 for size in grid)
        near = (0, 1, gx, gx * gy, gx * gy * gz - 1)
        blocks = np.array(sorted({b for b in near if b < gx * gy * gz})).reshape(-1, 1, 1)
        threads = np.arange(int(np.prod([size or 1 for size in block]))).reshape(1, -1, 1)
        self.run(grid, block, blocks, threads, np.ones((1, 1, 1), bool))
        return tuple(self.found)

    def wanted(self, stmt: Any) -> bool:
        """Stores to memory that threads share."""
        return isinstance(stmt, tirx.BufferStore) and shared_by_threads(stmt.buffer)

    def loop(
        self, stmt: Any, start: Array, extent: Array, env: Env, where: Bools
    ) -> tuple[Env, Bools]:
        """Every value of the variable while there is room."""
        count = int(extent.max())
        points = env.rows * self.thread_ids.shape[1]
        if extent.size > 1 or points * count > POINTS:
            inner = env.child()
            inner.set(stmt.loop_var, start)
            return inner, where
        inner = env.repeat(count)
        values = np.tile(np.arange(count), env.rows).reshape(-1, 1, 1)
        inner.set(stmt.loop_var, start + values)
        return inner, spread(where, count)  # type: ignore[return-value]

    def simple(self, stmt: Any, found: list[Use], runs: float) -> None:
        """Compare who writes what."""
        self.seen += 1
        store = found[-1]
        index = store.index()[0]
        if self.seen > MOST or index is None or not store.sure:
            return
        rows, threads = store.env.rows, self.thread_ids.shape[1]
        shape = (rows, threads)
        live = np.broadcast_to(store.where[:, :, 0], shape)
        if not live.any():
            return
        element = np.broadcast_to(index[:, :, 0], shape)
        block = np.repeat(self.block_ids[:, 0, 0], rows // len(self.block_ids))[:, None]
        block = np.broadcast_to(block, shape)
        place = element
        is_global = str(store.buffer.scope()) in ("", "global")
        if not is_global:
            # Shared memory belongs to a block and is reused between barriers: compare per row.
            place = element + np.arange(rows)[:, None] * (int(element.max()) + 1)
        who = block * threads + np.broadcast_to(self.thread_ids[:, :, 0], shape)
        pairs = np.unique(np.stack([place[live], who[live]]), axis=1)
        elements, counts = np.unique(pairs[0], return_counts=True)
        if counts.max() < 2:
            return
        many = live & (place == elements[counts.argmax()])
        loads = [use for use in found[:-1] if use.kind == "load"]
        own = str(store.indices[0])
        self.found.append(
            Duplicate(
                buffer=str(store.buffer.name),
                scope=str(store.buffer.scope()),
                index=own,
                threads=int(counts.max()),
                between_blocks=is_global and bool(np.unique(block[many]).size > 1),
                accumulates=any(
                    load.buffer.same_as(store.buffer) and str(load.indices[0]) == own
                    for load in loads
                ),
                same_value=all(_same(load, many) for load in loads),
                axes=tuple(
                    axis for axis, values in self.axes.items()
                    if axis.startswith("threadIdx") and _differs(values, many)
                ),
            )
        )  # fmt: skip


def shared_by_threads(buffer: Any) -> bool:
    """The buffer lies in global or shared memory."""
    scope = str(buffer.scope())
    return scope in ("", "global") or scope.startswith("shared")


def _same(load: Use, many: Bools) -> bool:
    """All the threads in question read one element of memory that they share."""
    index = load.index()[0]
    return shared_by_threads(load.buffer) and index is not None and not _differs(index, many)


def _differs(values: Array, many: Bools) -> bool:
    return bool(np.unique(np.broadcast_to(values[:, :, 0], many.shape)[many]).size > 1)
