"""Kernels on plain data: the launch, the arrays, and every access for sampled whole warps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm_ffi
from tvm import ir, tirx
from tvm.ir.prim import expr as prim

from explorer.analysis.kernel import Access, Bools, Extents, Kernel
from explorer.analysis.limits import WARP
from explorer.engine.host_code import Launch, plain
from explorer.engine.lanes import Array, Env, key, op_name, single
from explorer.engine.lower import Lowered
from explorer.engine.repeats import WholeBlocks, shared_by_threads
from explorer.engine.touch import Use
from explorer.engine.walk import XYZ, Walk

SAMPLES = 64
"""Places (block, warp, loop values) at which each access is looked at."""
MOST = 256
"""Accesses followed in one kernel; very long unrolled code repeats itself."""


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
    grid, block = launch_extents(launch, host)
    contents = Contents(device, host)
    warps = SampledWarps(launch, device, host)
    complete = all(size is not None and size > 0 for size in grid + block)
    threads = int(np.prod([size or 0 for size in block]))
    times: int | None = 1
    for _, extent in launch.loops:
        value = None if extent is None else single(extent, host)
        times = None if times is None or value is None else times * value
    return Kernel(
        name=launch.kernel,
        function=function,
        grid=grid,
        block=block,
        grid_text=_texts(launch, "blockIdx"),
        block_text=_texts(launch, "threadIdx"),
        shared_bytes=sum(size for _, scope, size in contents.shared if scope != "shared.dyn"),
        dynamic_shared_bytes=(
            0 if launch.dynamic_shared is None else single(launch.dynamic_shared, host)
        ),
        shared_arrays=tuple(contents.shared),
        local_arrays=tuple(contents.local),
        accesses=warps.sample(grid, block) if complete else (),
        statements=contents.statements,
        dtypes=frozenset(contents.dtypes),
        intrinsics=frozenset(contents.intrinsics),
        launches=times,
        duplicates=(
            WholeBlocks(launch, device, host).find(grid, block)
            if complete and threads <= 1024
            else ()
        ),
        unknown=(f"accesses after the first {MOST}",) if warps.more else (),
    )


def launch_extents(launch: Launch, host: Env) -> tuple[Extents, Extents]:
    """Grid and block of a launch, None where a size is missing."""
    return _extents(launch, "blockIdx", host), _extents(launch, "threadIdx", host)


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


def unwrapped(size: int) -> int:
    """A size of an allocation, as large as an unbounded dimension where it has become negative.

    TVM makes an unbounded dimension 2**31 - 1 long and multiplies it with the others in 32 bits.
    """
    return size if size >= 0 else 2**31 - 1


class Contents:
    """Arrays, data types, intrinsics and number of statements of a device function."""

    def __init__(self, device: Any, host: Env) -> None:
        self.host = host
        self.shared: list[tuple[str, str, int]] = []
        self.local: list[tuple[str, int]] = []
        self.dtypes: set[str] = set()
        self.intrinsics: set[str] = set()
        self.statements = 0
        tvm_ffi.structural_walk(
            device.body,
            [
                (tirx.AllocBuffer, self._allocated),
                (tirx.DeclBuffer, lambda stmt: self._dtype(stmt.buffer.dtype)),
                (prim.Cast, lambda cast: self._dtype(cast.ty.dtype)),
                (ir.Call, self._called),
                ((tirx.BufferStore, tirx.IfThenElse, tirx.Evaluate, tirx.For), self._counted),
            ],
        )

    def _dtype(self, dtype: Any) -> None:
        self.dtypes.add(str(dtype).split("x")[0])

    def _counted(self, _: Any) -> None:
        self.statements += 1

    def _called(self, call: Any) -> None:
        name = op_name(call)
        if name == "ptx_mma" and hasattr(call.args[0], "value"):
            name = f"mma.sync.{call.args[0].value}"
        self.intrinsics.add(name)

    def _allocated(self, stmt: Any) -> None:
        buffer = stmt.buffer
        self._dtype(buffer.dtype)
        sizes = [single(size, self.host) for size in buffer.shape]
        count = 0 if None in sizes else int(np.prod([unwrapped(size or 0) for size in sizes]))
        nbytes = count * item_bytes(str(buffer.dtype))
        scope = str(buffer.scope())
        if scope.startswith("shared"):
            self.shared.append((str(buffer.name), scope, nbytes))
        elif scope.startswith("local"):
            self.local.append((str(buffer.name), nbytes))


class SampledWarps(Walk):
    """Whole warps at sampled blocks, with sampled values for loops: what memory sees."""

    def sample(self, grid: Extents, block: Extents) -> tuple[Access, ...]:
        """The accesses to global and shared memory; extents must be known and positive."""
        self.accesses: list[Access] = []
        self.rng = np.random.default_rng(1)
        threads = int(np.prod([size or 1 for size in block]))
        blocks = self._spread(int(np.prod([size or 1 for size in grid], dtype=np.int64)))
        ids = self._spread(-(-threads // WARP)) * WARP + np.arange(WARP).reshape(1, -1, 1)
        self.run(grid, block, blocks, np.minimum(ids, threads - 1), ids < threads)
        return tuple(self.accesses)

    more = False
    """There were more accesses than were followed."""

    def _spread(self, count: int) -> Array:
        """SAMPLES values below `count`: the first, the last, and some between."""
        values = self.rng.integers(0, count, SAMPLES)
        values[0], values[1] = 0, count - 1
        return values.reshape(-1, 1, 1)

    def wanted(self, stmt: Any) -> bool:
        """Everything, until there is enough."""
        self.more = self.more or len(self.accesses) >= MOST
        return not self.more

    def loop(
        self, stmt: Any, start: Array, extent: Array, env: Env, where: Bools
    ) -> tuple[Env, Bools]:
        """A value for each sample: the first, the last, and some between."""
        inner = env.child()
        share = self.rng.random((env.rows, 1, 1))
        share[0], share[1] = 0.0, 1.0 - 1e-9
        inner.set(stmt.loop_var, start + np.floor(share * extent).astype(np.int64))
        return inner, where

    def simple(self, stmt: Any, found: list[Use], runs: float) -> None:
        """Note the accesses to memory that threads share."""
        for use in found:
            if use.kind != "address" and shared_by_threads(use.buffer):
                self.accesses.append(self._access(use, runs))

    def words(self, use: Use) -> str:
        """The index as text, for messages."""
        return str(use.indices[0])

    def _access(self, use: Use, runs: float) -> Access:
        dtype = str(use.buffer.dtype)
        index = use.index()[0] if len(use.indices) == 1 else None
        shape = (use.env.rows, WARP)
        lanes = 1 if index is None else int(index.shape[2])
        return Access(
            buffer=str(use.buffer.name),
            identity=key(use.buffer),
            scope=str(use.buffer.scope()),
            kind="store" if use.kind == "store" else "load",
            dtype=dtype,
            item_bytes=item_bytes(dtype),
            lanes=lanes,
            index=self.words(use),
            element=None if index is None else np.broadcast_to(index[:, :, 0], shape),
            active=np.broadcast_to(use.where[:, :, 0], shape),
            by_data=index is None and _reads_memory(use.indices),
            contiguous=index is None or lanes == 1 or bool(np.all(np.diff(index, axis=2) == 1)),
            runs_per_thread=runs,
        )


def _reads_memory(indices: tuple[Any, ...]) -> bool:
    found: list[Any] = []
    for index in indices:
        tvm_ffi.structural_walk(index, (ir.TensorLoad, found.append))
    return bool(found)
