"""Checks that look at loops and bindings: each with modules that have it and ones that have not."""

from __future__ import annotations

import pytest
import tvm

from explorer.engine.find import findings
from explorer.targets.limits import complete
from tests.findings.finding_modules import case, case_schedule, found, of, rows, scale, text

BX, BY, TX, TY = "blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y"


def bound(extent: int, axis: str) -> str:
    return f'T.thread_binding({extent}, thread="{axis}")'


@pytest.mark.parametrize("n", [64, 100, 1000])
def test_no_kernel_names_the_unbound_loop(n: int) -> None:
    (only,) = of("no_kernel", found(scale(n, ("step", n, ""), index="step")))
    assert only.severity == "error"
    assert "step" in only.message
    assert only.cure_id == "bind:main/0"
    assert not of("no_kernel", found(scale(n, ("step", n, TX), index="step")))


def test_partly_on_host_names_the_block_left_behind() -> None:
    both = """
C = T.sblock_alloc_buffer((64,), "float32")
for i in {first}:
    with T.sblock("C"):
        v = T.axis.spatial(64, i)
        C[v] = A[v] + T.float32(1)
for k in {second}:
    with T.sblock("B"):
        v = T.axis.spatial(64, k)
        B[v] = C[v] * T.float32(2)
"""
    signature = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'
    half = text(signature, both.format(first=bound(64, TX), second="range(64)"))
    (only,) = of("partly_on_host", found(half))
    assert "block B" in only.where
    assert only.severity == "error"
    whole = text(signature, both.format(first=bound(64, TX), second=bound(64, TX)))
    assert not of("partly_on_host", found(whole))


@pytest.mark.parametrize("times", [2, 64])
def test_host_loop_launch_names_the_outer_loop(times: int) -> None:
    inside = rows(times, 256, f"range({times})", bound(256, TX))
    (only,) = of("host_loop_launch", found(inside))
    assert f"i ({times})" in only.where
    assert f"{times} times" in only.message
    assert not of("host_loop_launch", found(rows(times, 256, bound(times, BX), bound(256, TX))))


@pytest.mark.parametrize("axis", ["threadIdx.w", "blockIdx.t", "gridIdx.x"])
def test_axis_unknown(axis: str) -> None:
    source = rows(8, 32, bound(8, BX), bound(32, axis))
    (only,) = of("axis_unknown", found(source))
    assert axis in only.message
    assert only.severity == "error"


@pytest.mark.parametrize("axis", [TX, BY, "threadIdx.z"])
def test_axis_that_exists(axis: str) -> None:
    assert not of("axis_unknown", found(rows(8, 32, bound(8, BX), bound(32, axis))))


@pytest.mark.parametrize(("axis", "n"), [(TX, 16), (BX, 8), (TY, 4)])
def test_axis_twice_on_a_path(axis: str, n: int) -> None:
    (only,) = of("axis_twice", found(rows(n, n, bound(n, axis), bound(n, axis))))
    assert only.severity == "error"
    assert "diagonal" in only.message
    assert "i (" in only.message
    assert "j (" in only.message
    assert not of("axis_twice", found(rows(n, n, bound(n, BX), bound(n, TX))))


def test_a_cooperative_load_may_repeat_an_axis() -> None:
    assert not of("axis_twice", found(case("96"), case_schedule("96")))


@pytest.mark.parametrize(("first", "second"), [(64, 32), (32, 64), (8, 7)])
def test_extents_of_one_axis_differ(first: int, second: int) -> None:
    body = f"""
S = T.sblock_alloc_buffer((16, 64), "float32", scope="shared")
for b in {bound(16, BX)}:
    for p in {bound(first, TX)}:
        with T.sblock("S"):
            vb, vp = T.axis.remap("SS", [b, p])
            S[vb, vp] = A[vb, vp]
    for q in {bound(second, TX)}:
        with T.sblock("B"):
            vb, vq = T.axis.remap("SS", [b, q])
            B[vb, vq] = S[vb, vq] + T.float32(1)
"""
    signature = 'A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")'
    (only,) = of("extent_mismatch", found(text(signature, body)))
    assert str(first) in only.message
    assert str(second) in only.message
    same = body.replace(f"({second}, thread", f"({first}, thread")
    assert not of("extent_mismatch", found(text(signature, same)))


@pytest.mark.parametrize("n", [8, 256])
def test_thread_without_block(n: int) -> None:
    (only,) = of("thread_without_block", found(scale(n, ("i", n, TX), index="i")))
    assert "1 of 128 SMs" in only.message
    assert only.severity == "warning"
    source = scale(n, ("b", 2, BX), ("t", n // 2, TX), index=f"b * {n // 2} + t")
    assert not of("thread_without_block", found(source))


@pytest.mark.parametrize("n", [8, 256])
def test_block_without_thread(n: int) -> None:
    (only,) = of("block_without_thread", found(scale(n, ("i", n, BX), index="i")))
    assert "31 of the 32" in only.message
    source = scale(n, ("b", 2, BX), ("t", n // 2, TX), index=f"b * {n // 2} + t")
    assert not of("block_without_thread", found(source))


SUM = """
for b in {block}:
    for i in {loop}:
        with T.sblock("S"):
            vi = T.axis.reduce({n}, i)
            with T.init():
                S[()] = T.float32(0)
            S[()] = S[()] + A[vi]
"""


@pytest.mark.parametrize("n", [300, 21000])
def test_single_thread_says_how_much_it_adds(n: int) -> None:
    signature = f'A: T.Buffer(({n},), "float32"), S: T.Buffer((), "float32")'
    serial = text(signature, SUM.format(block=bound(1, BX), loop=f"range({n})", n=n))
    (only,) = of("single_thread", found(serial))
    assert str(n) in only.message
    assert "no data-parallel loop" in only.message
    assert "rfactor" in only.cure
    assert only.node == "main/0/0"
    parallel = text(signature, SUM.format(block=bound(1, BX), loop=bound(n, TX), n=n))
    assert not of("single_thread", found(parallel))


@pytest.mark.parametrize(("limit", "alone"), [(1, True), (2, False)])
def test_single_thread_sees_through_a_guard(limit: int, alone: bool) -> None:
    signature = 'A: T.Buffer((70,), "int32"), S: T.Buffer((2,), "int32")'
    body = f"""
for b in {bound(1, BX)}:
    for t in {bound(256, TX)}:
        for i in range(70):
            with T.sblock("S"):
                vt = T.axis.spatial({limit}, b * 256 + t)
                vi = T.axis.reduce(70, i)
                T.where(b * 256 + t < {limit})
                with T.init():
                    S[vt] = 0
                S[vt] = S[vt] + A[vi]
"""
    seen = of("single_thread", found(text(signature, body)))
    assert len(seen) == alone
    if alone:
        assert "turns off 256 threads but one" in seen[0].message
        assert "adds up 70 elements" in seen[0].message


@pytest.mark.parametrize("n", [2, 96])
def test_reduction_on_block(n: int) -> None:
    signature = f'A: T.Buffer(({n},), "float32"), S: T.Buffer((), "float32")'
    spread = text(signature, SUM.format(block=bound(1, BY), loop=bound(n, BX), n=n))
    (only,) = of("reduction_on_block", found(spread))
    assert only.severity == "error"
    assert "blockIdx.x" in only.message
    threads = text(signature, SUM.format(block=bound(1, BY), loop=bound(n, TX), n=n))
    assert not of("reduction_on_block", found(threads))


def test_opaque_block() -> None:
    signature = 'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'
    body = """
with T.sblock("copy"):
    T.reads(A[0:64])
    T.writes(B[0:64])
    for step in range(64):
        B[step] = A[step]
"""
    (only,) = of("opaque_block", found(text(signature, body)))
    assert "step" in only.message
    assert not of("opaque_block", found(scale(64, ("i", 64, TX), index="i")))


def test_scheduled_mark_is_stale_or_missing() -> None:
    unbound = scale(64, ("i", 64, ""), index="i")
    marked = unbound.replace("True})", 'True, "tirx.is_scheduled": True})')
    (stale,) = of("scheduled_mark", found(marked))
    assert stale.severity == "warning"
    assert not of("scheduled_mark", found(unbound))
    done = scale(64, ("i", 64, TX), index="i")
    (missing,) = of("scheduled_mark", found(done))
    assert missing.severity == "info"
    finished = done.replace("True})", 'True, "tirx.is_scheduled": True})')
    assert not of("scheduled_mark", found(finished))


def test_private_function() -> None:
    source = scale(64, ("i", 64, TX), index="i")
    private = source.replace("s_tir=True", "private=True, s_tir=True")
    (only,) = of("private_function", found(private))
    assert "global_symbol" in only.message
    assert not of("private_function", found(source))


def test_relax_operator() -> None:
    (only,) = of("relax_operator", found(case("09")))
    assert "R.power" in only.message
    assert "LegalizeOps" in only.message
    assert not of("relax_operator", found(scale(64, ("i", 64, TX), index="i")))


def test_statement_buffer() -> None:
    raw = case("04")  # as TVM takes it; loading it in the app mends it
    target = complete("nvidia/geforce-rtx-4090", "sm_89", {})
    mod = tvm.script.from_source(raw)
    (only,) = of("statement_buffer", findings(mod, mod, target, {}))
    assert "sblock_alloc_buffer" in only.cure
    mended = tvm.script.from_source(raw.replace("T.alloc_buffer", "T.sblock_alloc_buffer"))
    assert not of("statement_buffer", findings(mended, mended, target, {}))


def test_not_covered() -> None:
    short = scale(100, ("b", 3, BX), ("t", 32, TX), index="b * 32 + t")
    (only,) = of("not_covered", found(short))
    assert "96" in only.message
    assert "100" in only.message
    whole = scale(96, ("b", 3, BX), ("t", 32, TX), index="b * 32 + t")
    assert not of("not_covered", found(whole))
