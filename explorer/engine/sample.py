"""Kernels on plain data: every access of a device function, evaluated at sampled points.

`kernels_of` walks each lowered body twice: once for whole warps at sampled blocks, warps and loop
values (what the memory system sees), once for whole blocks (which threads write the same element).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tvm_ffi
from tvm import ir, tirx
from tvm.ir.prim import expr as prim

from explorer.analysis.kernel import Access, Bools, Duplicate, Extents, Kernel
from explorer.analysis.limits import WARP
from explorer.engine.host_code import Launch, plain
from explorer.engine.lanes import Array, Env, evaluate, key, op_name, single, spread
from explorer.engine.lower import Lowered

SAMPLES = 64
POINTS = 2**18
"""Most thread-and-loop points enumerated to find elements written twice."""
XYZ = ("x", "y", "z")


def kernels_of(function: str, lowered: Lowered, sizes: Mapping[str, int]) -> tuple[Kernel, ...]:
    """The kernels of one lowered function in launch order, sizes filled in where given."""
    if lowered.host is None:
        return ()
    final = {} if lowered.device is None else {
        var.name_hint: func for var, func in lowered.device.functions_items()
    }  # fmt: skip
    return tuple(
        _kernel(function, launch, device, Env(1, sizes))
        for launch in lowered.host.launches
        if (device := final.get(launch.kernel, lowered.kernels.get(launch.kernel))) is not None
    )


def _kernel(function: str, launch: Launch, device: Any, host: Env) -> Kernel:
    grid, block = _extents(launch, "blockIdx", host), _extents(launch, "threadIdx", host)
    walk = _Walk(launch, device, host)
    duplicates: tuple[Duplicate, ...] = ()
    if all(size is not None and size > 0 for size in grid + block):
        walk.warps(grid, block)
        if int(np.prod(block)) <= 1024:  # type: ignore[arg-type]
            pairs = _Walk(launch, device, host)
            pairs.whole_blocks(grid, block)
            duplicates = tuple(pairs.duplicates)
    else:
        walk.statements_only()
    shared = tuple(walk.shared.values())
    times = 1
    for _, extent in launch.loops:
        value = None if extent is None else single(extent, host)
        times = None if times is None or value is None else times * value  # type: ignore[assignment]
    return Kernel(
        name=launch.kernel,
        function=function,
        grid=grid,
        block=block,
        grid_text=_texts(launch, "blockIdx"),
        block_text=_texts(launch, "threadIdx"),
        shared_bytes=sum(size for _, scope, size in shared if scope != "shared.dyn"),
        dynamic_shared_bytes=(
            0 if launch.dynamic_shared is None else single(launch.dynamic_shared, host)
        ),
        shared_arrays=shared,
        local_arrays=tuple(walk.local.values()),
        accesses=tuple(walk.accesses),
        statements=walk.statements,
        dtypes=frozenset(walk.dtypes),
        intrinsics=frozenset(walk.intrinsics),
        launches=times,
        duplicates=duplicates,
        unknown=tuple(sorted(walk.unknown)),
    )


def _extents(launch: Launch, axis: str, host: Env) -> Extents:
    x, y, z = (
        single(launch.extents[name], host) if (name := f"{axis}.{a}") in launch.extents else 1
        for a in XYZ
    )
    return x, y, z


def _texts(launch: Launch, axis: str) -> tuple[str, str, str]:
    x, y, z = (plain(launch.extents.get(f"{axis}.{a}", 1)) for a in XYZ)
    return x, y, z


def item_bytes(dtype: str) -> int:
    """Bytes of one element in memory; sub-byte types count as one."""
    parsed = tvm_ffi.dtype(dtype)
    return max(1, int(parsed.bits) * int(parsed.lanes) // 8)


class _Walk:
    """One pass over a device function.  `threads` is the length of the thread axis."""

    def __init__(self, launch: Launch, device: Any, host: Env) -> None:
        self.launch = launch
        self.device = device
        self.host = host
        self.accesses: list[Access] = []
        self.duplicates: list[Duplicate] = []
        self.shared: dict[int, tuple[str, str, int]] = {}
        self.local: dict[int, tuple[str, int]] = {}
        self.statements = 0
        self.dtypes: set[str] = set()
        self.intrinsics: set[str] = set()
        self.unknown: set[str] = set()
        self.exact = False
        self.rng = np.random.default_rng(1)

    # The three ways to walk

    def warps(self, grid: tuple[Any, ...], block: tuple[Any, ...]) -> None:
        """Sampled blocks and warps, 32 lanes each; loops take sampled values."""
        blocks = self._spread(int(np.prod(grid)))
        threads = int(np.prod(block))
        warps = self._spread(-(-threads // WARP))
        ids = warps * WARP + np.arange(WARP).reshape(1, -1, 1)
        self._run(grid, block, blocks, np.minimum(ids, threads - 1), ids < threads)

    def whole_blocks(self, grid: tuple[Any, ...], block: tuple[Any, ...]) -> None:
        """All threads of a few neighbouring blocks; loops are enumerated as far as POINTS allow."""
        self.exact = True
        total = int(np.prod(grid))
        near = [0, 1, grid[0], grid[0] * grid[1], total - 1]
        picks = sorted({b for b in near if b < total})
        threads = np.arange(int(np.prod(block))).reshape(1, -1, 1)
        self._run(
            grid, block, np.array(picks).reshape(-1, 1, 1), threads, np.ones((1, 1, 1), bool)
        )

    def statements_only(self) -> None:
        """Arrays and statements, when the launch can't be evaluated."""
        env = Env(1)
        self._visit(self.device.body, env, np.ones((1, 1, 1), bool), 1.0, False)
        self.accesses.clear()

    def _spread(self, count: int) -> Array:
        """SAMPLES values below `count`: the first, the last, and some between."""
        values = self.rng.integers(0, count, SAMPLES)
        values[0], values[1] = 0, count - 1
        return values.reshape(-1, 1, 1)

    def _run(
        self, grid: tuple[Any, ...], block: tuple[Any, ...], blocks: Array, threads: Array,
        active: Bools,
    ) -> None:  # fmt: skip
        env = Env(blocks.shape[0])
        for param, argument in zip(self.device.params, self.launch.arguments, strict=True):
            env.set(param, evaluate(argument, self.host))
        self.axes: dict[str, Array] = {}
        for name, extents, ids in (("blockIdx", grid, blocks), ("threadIdx", block, threads)):
            rest = ids
            for axis, extent in zip(XYZ, extents, strict=True):
                self.axes[f"{name}.{axis}"] = rest % extent
                rest = rest // extent
        self.block_ids, self.thread_ids = blocks, threads
        self._visit(self.device.body, env, active, 1.0, False)

    # Statements

    def _visit(self, stmt: Any, env: Env, mask: Bools, runs: float, guarded: bool) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self._visit(part, env, mask, runs, guarded)
        elif isinstance(stmt, tirx.Bind):
            self._loads(stmt.value, env, mask, runs, guarded)
            env.set(stmt.var, evaluate(stmt.value, env))
        elif isinstance(stmt, tirx.AttrStmt):
            if stmt.attr_key == "thread_extent":
                tag = str(stmt.node.thread_tag)
                env.set(stmt.node.var, self.axes.get(tag) if hasattr(self, "axes") else None)
            self._visit(stmt.body, env, mask, runs, guarded)
        elif isinstance(stmt, tirx.For):
            self._for(stmt, env, mask, runs, guarded)
        elif isinstance(stmt, tirx.IfThenElse):
            self.statements += 1
            self._branch(stmt, env, mask, runs)
        elif isinstance(stmt, tirx.BufferStore):
            self.statements += 1
            self._store(stmt, env, mask, runs, guarded)
        elif isinstance(stmt, tirx.AllocBuffer):
            self._allocate(stmt.buffer)
        elif isinstance(stmt, tirx.Evaluate):
            self.statements += 1
            self._loads(stmt.value, env, mask, runs, guarded)
        elif isinstance(stmt, tirx.While):
            self.unknown.add("while")
            self._visit(stmt.body, env.child(), mask, runs, True)

    def _for(self, stmt: Any, env: Env, mask: Bools, runs: float, guarded: bool) -> None:
        extent, start = evaluate(stmt.extent, env), evaluate(stmt.min, env)
        self.statements += 1
        if extent is None or start is None:
            inner = env.child()
            inner.set(stmt.loop_var, None)
            self._visit(stmt.body, inner, mask, runs, True)
            return
        most = int(extent.max())
        if most < 1:
            return
        points = env.rows * int(np.prod(self.thread_ids.shape)) if hasattr(self, "axes") else 1
        if self.exact and extent.size == 1 and points * most <= POINTS:
            inner = env.repeat(most)
            values = np.tile(np.arange(most), env.rows).reshape(-1, 1, 1)
            inner.set(stmt.loop_var, start + values)
            mask = spread(mask, most)  # type: ignore[assignment]
        else:
            inner = env.child()
            share = self.rng.random((env.rows, 1, 1))
            if env.rows > 1:
                share[0], share[1] = 0.0, 1.0 - 1e-9
            inner.set(stmt.loop_var, start + np.floor(share * extent).astype(np.int64))
        self._visit(stmt.body, inner, mask, runs * float(np.mean(extent)), guarded)

    def _branch(self, stmt: Any, env: Env, mask: Bools, runs: float) -> None:
        self._loads(stmt.condition, env, mask, runs, True)
        condition = evaluate(stmt.condition, env)
        yes = mask if condition is None else mask & condition.astype(bool)
        no = mask if condition is None else mask & ~condition.astype(bool)
        self._visit(stmt.then_case, env.child(), yes, runs, True)
        if stmt.else_case is not None:
            self._visit(stmt.else_case, env.child(), no, runs, True)

    def _allocate(self, buffer: Any) -> None:
        sizes = [single(size, self.host) for size in buffer.shape]
        total = 0 if None in sizes else int(np.prod([s for s in sizes if s is not None] or [1]))
        count = total * item_bytes(str(buffer.dtype))
        scope = str(buffer.scope())
        if scope.startswith("shared"):
            self.shared[key(buffer)] = (str(buffer.name), scope, count)
        elif scope.startswith("local"):
            self.local[key(buffer)] = (str(buffer.name), count)

    # Accesses

    def _store(self, stmt: Any, env: Env, mask: Bools, runs: float, guarded: bool) -> None:
        loads = self._loads(stmt.value, env, mask, runs, guarded)
        for index in stmt.indices:
            self._loads(index, env, mask, runs, guarded)
        mine = self._access(stmt.buffer, stmt.indices, "store", env, mask, runs, guarded, stmt.value)
        text = str(stmt.indices[0])
        accumulates = any(
            other.buffer == mine.buffer and other.index == text for other, _ in loads
        )
        self.accesses.append(_with(mine, accumulates))
        if self.exact and not mine.scope.startswith(("local", "warp")):
            self._duplicate(mine, evaluate(stmt.indices[0], env), mask, accumulates, loads)

    def _loads(
        self, expr: Any, env: Env, mask: Bools, runs: float, guarded: bool
    ) -> list[tuple[Access, Array | None]]:
        """Note the loads in an expression and return them with their evaluated index."""
        found: list[tuple[Access, Array | None]] = []
        if isinstance(expr, ir.TensorLoad):
            for index in expr.indices:
                found += self._loads(index, env, mask, runs, guarded)
            access = self._access(
                expr.source, expr.indices, "load", env, mask, runs, guarded, expr
            )
            self.accesses.append(access)
            found.append((access, evaluate(expr.indices[0], env)))
        elif isinstance(expr, ir.Call):
            found += self._call(expr, env, mask, runs, guarded)
        elif isinstance(expr, prim.Let):
            found += self._loads(expr.value, env, mask, runs, guarded)
            inner = env.child()
            inner.set(expr.var, evaluate(expr.value, env))
            found += self._loads(expr.body, inner, mask, runs, guarded)
        else:
            self._note_dtype(expr)
            for field in ("a", "b", "value", "condition", "true_value", "false_value", "base"):
                child = getattr(expr, field, None)
                if isinstance(child, ir.Expr):
                    found += self._loads(child, env, mask, runs, guarded)
        return found

    def _call(
        self, call: Any, env: Env, mask: Bools, runs: float, guarded: bool
    ) -> list[tuple[Access, Array | None]]:
        name = op_name(call)
        found: list[tuple[Access, Array | None]] = []
        self._note_dtype(call)
        if name == "if_then_else":
            condition = evaluate(call.args[0], env)
            found += self._loads(call.args[0], env, mask, runs, True)
            for branch, flip in ((call.args[1], False), (call.args[2], True)):
                inner = mask
                if condition is not None:
                    inner = mask & (condition.astype(bool) ^ flip)
                found += self._loads(branch, env, inner, runs, True)
            return found
        self.intrinsics.add(_intrinsic(call, name))
        for arg in call.args:
            # The address is taken, not the value: the intrinsic itself touches memory.
            if not (name in ("address_of", "tvm_access_ptr") and isinstance(arg, ir.TensorLoad)):
                found += self._loads(arg, env, mask, runs, guarded)
        return found

    def _note_dtype(self, expr: Any) -> None:
        dtype = getattr(getattr(expr, "ty", None), "dtype", None)
        if dtype is not None:
            self.dtypes.add(str(dtype).split("x")[0])

    def _access(
        self, buffer: Any, indices: Any, kind: Any, env: Env, mask: Bools, runs: float,
        guarded: bool, value: Any,
    ) -> Access:  # fmt: skip
        dtype = str(buffer.dtype)
        self.dtypes.add(dtype.split("x")[0])
        index = evaluate(indices[0], env) if len(indices) == 1 else None
        lanes = 1 if index is None else int(index.shape[2])
        contiguous = lanes == 1 or bool(np.all(np.diff(index, axis=2) == 1))  # type: ignore[arg-type]
        element = None
        rows, threads = env.rows, self.thread_ids.shape[1] if hasattr(self, "axes") else 1
        if index is not None:
            element = np.broadcast_to(index[:, :, 0], (rows, threads))
        return Access(
            buffer=str(buffer.name), scope=str(buffer.scope()), kind=kind, dtype=dtype,
            item_bytes=item_bytes(dtype), lanes=lanes, index=str(indices[0]), element=element,
            active=np.broadcast_to(mask[:, :, 0], (rows, threads)), contiguous=contiguous,
            runs_per_thread=runs, guarded=guarded,
        )  # fmt: skip

    def _duplicate(
        self, store: Access, index: Array | None, mask: Bools, accumulates: bool,
        loads: list[tuple[Access, Array | None]],
    ) -> None:  # fmt: skip
        """Note a store in which several threads write one element."""
        if index is None or store.element is None:
            return
        rows, threads = store.element.shape
        blocks = np.broadcast_to(
            np.repeat(self.block_ids[:, 0, 0], rows // self.block_ids.shape[0])[:, None],
            (rows, threads),
        )
        thread = np.broadcast_to(self.thread_ids[:, :, 0], (rows, threads))
        live = store.active
        if not live.any():
            return
        # Shared memory belongs to the block and is reused between barriers: compare row by row.
        place = (
            store.element if store.is_global
            else store.element + np.arange(rows)[:, None] * (int(store.element.max()) + 1)
        )  # fmt: skip
        who = blocks * (int(thread.max()) + 1) + thread
        pairs = np.unique(np.stack([place[live], who[live]]), axis=1)
        elements, counts = np.unique(pairs[0], return_counts=True)
        if counts.max() < 2:
            return
        many = place == elements[counts.argmax()]
        many &= live
        same = all(
            access.scope.startswith("local") is False
            and value is not None
            and np.unique(np.broadcast_to(value[:, :, :1], (rows, threads, 1))[many]).size == 1
            for access, value in loads
        )
        unused = tuple(
            axis for axis, values in self.axes.items()
            if axis.startswith("threadIdx") and values.max() > 0
            and np.unique(np.broadcast_to(values[:, :, 0], (rows, threads))[many]).size > 1
        )  # fmt: skip
        self.duplicates.append(
            Duplicate(
                buffer=store.buffer, scope=store.scope, index=store.index,
                threads=int(counts.max()),
                between_blocks=store.is_global and np.unique(blocks[many]).size > 1,
                accumulates=accumulates, same_value=same, axes=unused,
            )
        )  # fmt: skip


def _with(access: Access, accumulates: bool) -> Access:
    return replace(access, accumulates=True) if accumulates else access


def _intrinsic(call: Any, name: str) -> str:
    """The name of an intrinsic, with the PTX shape where it is an mma."""
    if name == "ptx_mma" and call.args and hasattr(call.args[0], "value"):
        return f"mma.sync.{call.args[0].value}"
    return name

