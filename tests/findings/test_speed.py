"""Checks of memory accesses, warps and waves, on lowered kernels."""

from __future__ import annotations

import pytest
from tvm import s_tir

from tests.findings.finding_modules import case, found, of, rows, scale, text

BX, BY, TX, TY = "blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y"


def bound(extent: int, axis: str) -> str:
    return f'T.thread_binding({extent}, thread="{axis}")'


def warned(code: str, source: str, **sizes: int) -> list[str]:
    return [f.message for f in of(code, found(source, **sizes)) if f.severity == "warning"]


@pytest.mark.parametrize("n", [64, 1000])
def test_threads_along_the_rows_are_coalesced_along_the_columns_not(n: int) -> None:
    good = rows(64, n, bound(64, BX), bound(n, TX))
    assert not warned("uncoalesced", good)
    poor = rows(64, n, bound(64, TX), bound(n, BX))
    load, store = warned("uncoalesced", poor)
    for message in (load, store):
        assert f"strided by {4 * n} bytes" in message
        assert "32 sectors" in message
        assert "4 would do" in message


def test_transpose_is_coalesced_on_one_side_only() -> None:
    source = rows(64, 64, bound(64, BX), bound(64, TX), value="A[vj, vi]")
    (message,) = warned("uncoalesced", source)
    assert message.startswith("The load of A")
    assert "strided by 256 bytes" in message


def test_a_broadcast_is_no_fault() -> None:
    source = rows(64, 64, bound(64, BX), bound(64, TX), value="A[vi, 0]")
    assert not warned("uncoalesced", source)
    infos = [f.message for f in of("uncoalesced", found(source))]
    assert "load A broadcast (1)" in infos[0]


def test_the_block_shape_counts_not_threadidx_x_alone() -> None:
    """8 threads along x and 4 along y: a warp walks 4 pieces of 8 neighbours."""
    body = f"""
for b in {bound(16, BX)}:
    for y in {bound(4, TY)}:
        for x in {bound(8, TX)}:
            with T.sblock("B"):
                vi = T.axis.spatial(64, b * 4 + y)
                vj = T.axis.spatial(8, x)
                B[vi, vj] = A[vi, vj] + T.float32(1)
"""
    pair = 'A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")'
    infos = of("uncoalesced", found(text(pair, body)))
    assert "load A coalesced (4)" in infos[0].message
    wide = text(pair.replace("8)", "64)"), body.replace("spatial(8, x)", "spatial(64, x)"))
    infos = of("uncoalesced", found(wide))
    assert "(4)" in infos[0].message  # 4 rows of 32 bytes, each one sector


def test_data_dependent_index_is_said_to_be_unknown() -> None:
    body = f"""
for b in {bound(4, BX)}:
    for t in {bound(32, TX)}:
        with T.sblock("B"):
            v = T.axis.spatial(128, b * 32 + t)
            B[v] = A[I[v]]
"""
    signature = ('A: T.Buffer((128,), "float32"), I: T.Buffer((128,), "int32"),'
                 ' B: T.Buffer((128,), "float32")')  # fmt: skip
    messages = [f.message for f in of("uncoalesced", found(text(signature, body)))]
    assert any("depends on data" in message and "A[" in message for message in messages)


TILE = """
S = T.sblock_alloc_buffer(({m}, {m}), "float32", scope="shared")
for b in T.thread_binding(1, thread="blockIdx.x"):
    for y in T.thread_binding({k}, thread="threadIdx.y"):
        for x in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("S"):
                vi, vj = T.axis.remap("SS", [y, x])
                S[vi, vj] = A[vi, vj]
    for y in T.thread_binding({k}, thread="threadIdx.y"):
        for x in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [y, x])
                B[vi, vj] = S[{read}]
"""


def tile(read: str, pad: int) -> list[str]:
    signature = 'A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")'

    def schedule(sch: s_tir.Schedule) -> None:
        if pad:
            sch.storage_align(sch.get_sblock("S"), 0, axis=0, factor=32, offset=pad)

    source = text(signature, TILE.format(m=32, k=32, read=read))
    return [f.message for f in of("bank_conflicts", found(source, schedule))]


def test_bank_conflicts_of_a_transposed_tile_and_its_padding() -> None:
    (message,) = tile("vj, vi", 0)
    assert "32-way" in message
    assert "load of S" in message
    assert not tile("vi, vj", 0)
    assert not tile("vj, vi", 1)
    (half,) = tile("vj, vi", 2)
    assert "2-way" in half


@pytest.mark.parametrize(("threads", "idle"), [(40, 24), (100, 28), (8, 24), (128, 0)])
def test_idle_lanes(threads: int, idle: int) -> None:
    source = rows(200, threads, bound(200, BX), bound(threads, TX))
    seen = of("idle_lanes", found(source))
    assert bool(seen) is bool(idle)
    if idle:
        assert f"{idle} of " in seen[0].message


@pytest.mark.parametrize(
    ("blocks", "words"),
    [(20, "108 SMs have nothing to do"), (1600, "2.08 waves of 768"), (1536, ""), (128, "")],
)
def test_tail_wave_on_a_gpu_with_128_sms(blocks: int, words: str) -> None:
    source = rows(blocks, 256, bound(blocks, BX), bound(256, TX))
    seen = of("tail_wave", found(source))
    assert bool(seen) is bool(words)
    if words:
        assert words in seen[0].message


def test_tail_wave_is_silent_for_an_unlisted_gpu() -> None:
    from explorer.analysis.peaks import gpu

    assert gpu("sm_89") is None
    assert gpu("nvidia/geforce-rtx-4090").sms == 128  # type: ignore[union-attr]


def test_low_occupancy_names_limiter_and_cliff() -> None:
    body = """
S = T.sblock_alloc_buffer((16, 8192), "float32", scope="shared")
for b in T.thread_binding(16, thread="blockIdx.x"):
    for k in range(256):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("S"):
                vb = T.axis.spatial(16, b)
                vj = T.axis.spatial(8192, k * 32 + t)
                S[vb, vj] = A[vb, vj]
    for k in range(256):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("B"):
                vb = T.axis.spatial(16, b)
                vj = T.axis.spatial(8192, k * 32 + t)
                B[vb, vj] = S[vb, 8191 - vj]
"""
    signature = 'A: T.Buffer((16, 8192), "float32"), B: T.Buffer((16, 8192), "float32")'
    (only,) = of("low_occupancy", found(text(signature, body)))
    assert only.severity == "warning"
    assert "shared memory" in only.message
    assert "3 blocks" in only.message  # 102400 // (32768 + 1024)
    assert "would fit 4 blocks" in only.message
    full = rows(1000, 256, bound(1000, BX), bound(256, TX))
    (fine,) = of("low_occupancy", found(full))
    assert fine.severity == "info"
    assert "100 %" in fine.message


def test_redundant_loads_of_a_naive_matmul() -> None:
    body = f"""
for i in {bound(256, BX)}:
    for j in {bound(256, TX)}:
        for k in range(256):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    signature = ", ".join(f'{name}: T.Buffer((256, 256), "float32")' for name in "ABC")
    naive = of("redundant_loads", found(text(signature, body)))
    seen = {f.where.rsplit(", ")[-1]: f.message for f in naive}
    assert "256 times" in seen["B"]  # each block of a row loads all of B
    once = rows(256, 256, bound(256, BX), bound(256, TX))
    assert not of("redundant_loads", found(once))


@pytest.mark.parametrize(("copies", "many"), [(512, True), (16, False)])
def test_unrolled_size(copies: int, many: bool) -> None:
    source = rows(256, copies, bound(256, TX), f"T.unroll({copies})")
    seen = of("unrolled_size", found(source))
    assert bool(seen) is many
    if many:
        assert f"{copies} copies" in seen[0].message


def vectorised(dtype: str, lanes: int, shift: int, length: int) -> str:
    body = f"""
for i in {bound(16, BX)}:
    for j in {bound(8, TX)}:
        for w in T.vectorized({lanes}):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial({8 * lanes}, j * {lanes} + w)
                B[vi, vj] = A[vi, vj + {shift}]
"""
    return text(
        f'A: T.Buffer((16, {length}), "{dtype}"), B: T.Buffer((16, {8 * lanes}), "{dtype}")', body
    )


@pytest.mark.parametrize(
    ("dtype", "lanes", "shift", "length", "off"),
    [
        ("float16", 4, 1, 33, True),
        ("float32", 2, 0, 17, True),
        ("float32", 4, 2, 36, True),
        ("float16", 4, 0, 32, False),
        ("float32", 4, 4, 36, False),
    ],
)
def test_misaligned_vector(dtype: str, lanes: int, shift: int, length: int, off: bool) -> None:
    seen = of("misaligned_vector", found(vectorised(dtype, lanes, shift, length)))
    assert bool(seen) is off
    if off:
        assert "not vectorisable" in seen[0].message
        assert f"offset {shift}" in seen[0].message


def test_misaligned_vector_names_offset_and_stride_of_case_58() -> None:
    from tests.findings.finding_modules import case_schedule

    (only,) = of("misaligned_vector", found(case("58"), case_schedule("58")))
    assert "not vectorisable: offset 1, stride 9" in only.message


@pytest.mark.parametrize(
    ("dtype", "narrow"), [("float16", True), ("int8", True), ("float32", False)]
)
def test_narrow_access(dtype: str, narrow: bool) -> None:
    source = scale(1024, ("b", 8, BX), ("t", 128, TX), index="b * 128 + t", dtype=dtype)
    assert bool(of("narrow_access", found(source))) is narrow
