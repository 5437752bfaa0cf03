"""Limits of the chosen GPU, each with its number."""

from __future__ import annotations

import pytest

from tests.findings.finding_modules import found, of, rows, scale, text

BX, BY, BZ, TX, TY, TZ = (f"{kind}Idx.{axis}" for kind in ("block", "thread") for axis in "xyz")


def bound(extent: int, axis: str) -> str:
    return f'T.thread_binding({extent}, thread="{axis}")'


@pytest.mark.parametrize(("m", "n", "over"), [(64, 32, True), (32, 32, False), (2, 513, True)])
def test_threads_per_block(m: int, n: int, over: bool) -> None:
    seen = of("threads_per_block", found(rows(m, n, bound(m, TY), bound(n, TX))))
    assert bool(seen) is over
    if over:
        assert f"{m * n} threads" in seen[0].message
        assert "1024" in seen[0].message
        assert "CUDA C++ Programming Guide" in seen[0].message


@pytest.mark.parametrize(("n", "over"), [(65, True), (64, False)])
def test_threads_along_z(n: int, over: bool) -> None:
    seen = of("threads_per_block", found(rows(2, n, bound(2, BX), bound(n, TZ))))
    assert bool(seen) is over
    if over:
        assert "threadIdx.z" in seen[0].message
        assert "64" in seen[0].message


@pytest.mark.parametrize(
    ("axis", "n", "over"),
    [(BY, 65536, True), (BZ, 70000, True), (BY, 65535, False), (BX, 65536, False)],
)
def test_grid_limit(axis: str, n: int, over: bool) -> None:
    seen = of("grid_limit", found(rows(n, 32, bound(n, axis), bound(32, TX))))
    assert bool(seen) is over
    if over:
        assert "65535" in seen[0].message


DYNAMIC = """
n = T.int64()
A = T.match_buffer(a, (n, T.int64(64)), "float32")
B = T.match_buffer(b, (n, T.int64(64)), "float32")
for i in T.thread_binding(n, thread="blockIdx.x"):
    for j in T.thread_binding(T.int64(64), thread="threadIdx.x"):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


@pytest.mark.parametrize(("n", "empty"), [(0, True), (5, False)])
def test_zero_grid_names_the_size(n: int, empty: bool) -> None:
    seen = of("zero_grid", found(text("a: T.handle, b: T.handle", DYNAMIC), n=n))
    assert bool(seen) is empty
    if empty:
        assert "n = 0" in seen[0].message
        assert "blockIdx.x" in seen[0].message


def test_sizes_missing() -> None:
    source = text("a: T.handle, b: T.handle", DYNAMIC)
    (only,) = of("sizes_missing", found(source))
    assert "n has no value" in only.message
    assert not of("sizes_missing", found(source, n=3))


TILE = """
S = T.sblock_alloc_buffer((16, {n}), "float32", scope="{scope}")
for b in T.thread_binding(16, thread="blockIdx.x"):
    for k in range({per}):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            with T.sblock("S"):
                vb = T.axis.spatial(16, b)
                vj = T.axis.spatial({n}, k * 256 + t)
                S[vb, vj] = A[vb, vj]
    for k in range({per}):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            with T.sblock("B"):
                vb = T.axis.spatial(16, b)
                vj = T.axis.spatial({n}, k * 256 + t)
                B[vb, vj] = S[vb, {n} - 1 - vj]
"""


def tile(n: int, scope: str) -> str:
    signature = f'A: T.Buffer((16, {n}), "float32"), B: T.Buffer((16, {n}), "float32")'
    return text(signature, TILE.format(n=n, per=n // 256, scope=scope))


@pytest.mark.parametrize(
    ("n", "scope", "tag", "severity"),
    [
        (12288, "shared", "nvidia/geforce-rtx-4090", ""),
        (12544, "shared", "nvidia/geforce-rtx-4090", "error"),
        (16384, "shared", "nvidia/nvidia-h100", "error"),
        (16384, "shared.dyn", "nvidia/geforce-rtx-4090", "info"),
        (16384, "shared.dyn", "nvidia/nvidia-t4", "info"),
        (25600, "shared.dyn", "nvidia/geforce-rtx-4090", "error"),
        (25600, "shared.dyn", "nvidia/nvidia-h100", "info"),
        (16640, "shared.dyn", "nvidia/nvidia-t4", "error"),
    ],
)
def test_shared_memory(n: int, scope: str, tag: str, severity: str) -> None:
    seen = of("shared_memory", found(tile(n, scope), tag=tag))
    assert [f.severity for f in seen] == ([severity] if severity else [])
    for one in seen:
        assert str(n * 4) in one.message


def test_unbounded_shared_array_is_named() -> None:
    from tests.findings.finding_modules import case, case_schedule

    seen = of("shared_memory", found(case("61"), case_schedule("61"), n=101))
    assert len(seen) == 1
    assert "C_shared" in seen[0].message or "C " in seen[0].message
    assert "no bound" in seen[0].message


@pytest.mark.parametrize(
    ("dtype", "tag", "lacks"),
    [
        ("float8_e4m3fn", "nvidia/nvidia-t4", True),
        ("float8_e4m3fn", "nvidia/geforce-rtx-4090", False),
        ("float16", "nvidia/nvidia-t4", False),
        ("float32", "nvidia/nvidia-v100", False),
    ],
)
def test_needs_newer_gpu(dtype: str, tag: str, lacks: bool) -> None:
    body = """
for i in T.thread_binding(4, thread="blockIdx.x"):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.sblock("B"):
            v = T.axis.spatial(128, i * 32 + t)
            B[v] = T.Cast("float32", A[v])
"""
    signature = f'A: T.Buffer((128,), "{dtype}"), B: T.Buffer((128,), "float32")'
    seen = of("needs_newer_gpu", found(text(signature, body), tag=tag))
    assert bool(seen) is lacks
    if lacks:
        assert "sm_89" in seen[0].message


def test_within_all_limits() -> None:
    seen = found(scale(4096, ("b", 32, BX), ("t", 128, TX), index="b * 128 + t"))
    assert [f for f in seen if f.severity != "info"] == []
