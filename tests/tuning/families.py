"""Families of kernels whose order is known from physics and documented practice, as schedules."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm import ir, s_tir

from explorer.engine.load import module
from explorer.model.loaded import Source
from tests.tuning.sampled import warm_up

Schedule = Callable[[s_tir.Schedule], None]

_HEAD = "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def main("


def _module(signature: str, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return f'{_HEAD}{signature}):\n        T.func_attr({{"tirx.noalias": True}})\n{lines}\n'


def _buffer(name: str, shape: str, dtype: str = "float32") -> str:
    return f'{name}: T.Buffer({shape}, "{dtype}")'


def scale(n: int) -> str:
    """B[i] = A[i] * 2."""
    body = f"""
for i in range({n}):
    with T.sblock("B"):
        v = T.axis.spatial({n}, i)
        B[v] = A[v] * T.float32(2)
"""
    return _module(f"{_buffer('A', f'({n},)')}, {_buffer('B', f'({n},)')}", body)


def copy(m: int, n: int, *, turned: bool = False) -> str:
    """B[i, j] = A[i, j], or A[j, i]."""
    index = "A[vj, vi]" if turned else "A[vi, vj]"
    shape = f"({n}, {m})" if turned else f"({m}, {n})"
    body = f"""
for i, j in T.grid({m}, {n}):
    with T.sblock("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = {index}
"""
    return _module(f"{_buffer('A', shape)}, {_buffer('B', f'({m}, {n})')}", body)


def matmul(n: int, dtype: str = "float32") -> str:
    """C = A @ B, square."""
    body = f"""
for i, j, k in T.grid({n}, {n}, {n}):
    with T.sblock("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.{dtype}(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    square = f"({n}, {n})"
    return _module(", ".join(_buffer(name, square, dtype) for name in "ABC"), body)


def row_sums(m: int, n: int) -> str:
    """B[i] = sum of A[i, :]."""
    body = f"""
for i, k in T.grid({m}, {n}):
    with T.sblock("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vi, vk]
"""
    return _module(f"{_buffer('A', f'({m}, {n})')}, {_buffer('B', f'({m},)')}", body)


def scheduled(text: str, schedule: Schedule) -> ir.IRModule:
    """The module after a schedule."""
    sch = s_tir.Schedule(module(Source(text)))
    schedule(sch)
    return sch.mod


# One loop over blocks and threads


def flat(threads: int, *, blocks: int | None = None, vector: int = 1) -> Schedule:
    """All loops fused; `blocks` many blocks loop over the rest."""

    def apply(sch: s_tir.Schedule) -> None:
        fused = sch.fuse(*sch.get_loops(sch.get_sblock("B")))
        if blocks is not None:
            rest, outer, inner = sch.split(fused, [None, blocks, threads])
            sch.reorder(outer, inner, rest)
        else:
            outer, inner, lane = sch.split(fused, [None, threads, vector])
            sch.vectorize(lane)
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")

    return apply


def by_rows(sch: s_tir.Schedule) -> None:
    """Neighbouring threads take neighbouring rows: every access is strided."""
    i, j = sch.get_loops(sch.get_sblock("B"))
    outer, inner = sch.split(i, [None, 256])
    sch.reorder(outer, j, inner)
    sch.bind(sch.fuse(outer, j), "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


# Transposes


def tiled_transpose(*, pad: bool, tile: int = 32, rows: int = 8) -> Schedule:
    """Through a tile of shared memory, with a column of padding or without."""

    def apply(sch: s_tir.Schedule) -> None:
        block = sch.get_sblock("B")
        cached = sch.cache_read(block, 0, "shared")
        i, j = sch.get_loops(block)
        i0, i1 = sch.split(i, [None, tile])
        j0, j1 = sch.split(j, [None, tile])
        sch.reorder(i0, j0, i1, j1)
        sch.bind(i0, "blockIdx.y")
        sch.bind(j0, "blockIdx.x")
        sch.compute_at(cached, j0)
        for part in (cached, block):
            down, across = sch.get_loops(part)[-2:]
            _, row = sch.split(down, [None, rows])
            sch.bind(row, "threadIdx.y")
            sch.bind(across, "threadIdx.x")
        if pad:
            sch.storage_align(cached, 0, 0, tile, 1)

    return apply


# Matrix products


def naive_matmul(x: int, y: int) -> Schedule:
    """A thread an element, operands straight from global memory, sums in a register."""

    def apply(sch: s_tir.Schedule) -> None:
        block = sch.get_sblock("C")
        i, j, _ = sch.get_loops(block)
        i0, i1 = sch.split(i, [None, y])
        j0, j1 = sch.split(j, [None, x])
        sch.reorder(i0, j0, i1, j1)
        for loop, axis in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (i1, "threadIdx.y"),
                           (j1, "threadIdx.x")):  # fmt: skip
            sch.bind(loop, axis)
        written = sch.cache_write(block, 0, "local")
        sch.reverse_compute_at(written, j1)

    return apply


def tiled_matmul(
    *, threads: int = 16, each: int = 1, depth: int = 16, unroll: bool = True
) -> Schedule:
    """Tiles in shared memory; a thread computes `each` x `each` elements in registers."""

    def apply(sch: s_tir.Schedule) -> None:
        block = sch.get_sblock("C")
        i, j, k = sch.get_loops(block)
        i0, i1, i2 = sch.split(i, [None, threads, each])
        j0, j1, j2 = sch.split(j, [None, threads, each])
        k0, k1 = sch.split(k, [None, depth])
        sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
        for loop, axis in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (i1, "threadIdx.y"),
                           (j1, "threadIdx.x")):  # fmt: skip
            sch.bind(loop, axis)
        written = sch.cache_write(block, 0, "local")
        sch.reverse_compute_at(written, j1)
        for operand in (0, 1):
            cached = sch.cache_read(block, operand, "shared")
            sch.compute_at(cached, k0)
            fused = sch.fuse(*sch.get_loops(cached)[-2:])
            _, y, x = sch.split(fused, [None, threads, threads])
            sch.bind(y, "threadIdx.y")
            sch.bind(x, "threadIdx.x")
        if unroll:
            sch.unroll(i2)
            sch.unroll(j2)
        sch.decompose_reduction(block, k0)

    return apply


def dlight(text: str, rule: str, target: tvm.target.Target) -> ir.IRModule:
    """The module after one of dlight's rules."""
    warm_up()
    from tvm.s_tir import dlight as dl

    found = getattr(dl.gpu, rule)().apply(module(Source(text))["main"], target, False)
    return (found[0] if isinstance(found, list) else found).mod


# Reductions


def row_a_thread(threads: int) -> Schedule:
    """Each thread sums a row by itself."""

    def apply(sch: s_tir.Schedule) -> None:
        i, _ = sch.get_loops(sch.get_sblock("B"))
        outer, inner = sch.split(i, [None, threads])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")

    return apply


def row_a_block(threads: int) -> Schedule:
    """The threads of a block sum a row together."""

    def apply(sch: s_tir.Schedule) -> None:
        i, k = sch.get_loops(sch.get_sblock("B"))
        _, inner = sch.split(k, [None, threads])
        sch.bind(i, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")

    return apply
