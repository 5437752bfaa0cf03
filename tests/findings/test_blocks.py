"""Checks that look at what blocks read and write."""

from __future__ import annotations

import pytest
from tvm import s_tir

from tests.findings.finding_modules import case, case_schedule, found, of, scale, text

BX, BY, TX, TY = "blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y"


def bound(extent: int, axis: str) -> str:
    return f'T.thread_binding({extent}, thread="{axis}")'


def vector(n: int) -> str:
    return f'A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")'


SCAN = """
for i in {loop}:
    with T.sblock("B"):
        vi = T.axis.spatial({n}, i)
        B[vi] = A[vi] + T.if_then_else(vi > {back} - 1, B[vi - {back}], T.float32(0))
"""


@pytest.mark.parametrize(("n", "back"), [(256, 1), (100, 3)])
def test_loop_carried_is_a_race_only_when_bound(n: int, back: int) -> None:
    def scan(loop: str) -> str:
        return text(vector(n), SCAN.format(loop=loop, n=n, back=back))

    (race,) = of("loop_carried", found(scan(bound(n, TX))))
    assert race.severity == "error"
    assert f"B[vi - {back}]" in race.message
    (serial,) = of("loop_carried", found(scan(f"range({n})")))
    assert serial.severity == "warning"
    assert "must not be bound" in serial.message
    assert not of("loop_carried", found(scale(n, ("i", n, TX), index="i")))


def test_a_reduction_is_not_loop_carried() -> None:
    assert not of("loop_carried", found(case("10")))


@pytest.mark.parametrize("n", [16, 128])
def test_in_place(n: int) -> None:
    body = f"""
for i in range({n}):
    with T.sblock("A"):
        vi = T.axis.spatial({n}, i)
        A[vi] = A[vi] * T.float32(2)
"""
    (only,) = of("in_place", found(text(f'A: T.Buffer(({n},), "float32")', body)))
    assert "A in place" in only.message
    assert not of("in_place", found(scale(n, ("i", n, ""), index="i")))
    assert not of("in_place", found(case("10")))


SUM = """
for i in {outer}:
    for k in {inner}:
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            {init}
            S[vi] = S[vi] + A[vi, vk]
"""
INIT = "with T.init(): S[vi] = T.float32(0)"
START = """
for i in range(16):
    with T.sblock("start"):
        vi = T.axis.spatial(16, i)
        S[vi] = T.float32(0)
"""
SUMS = 'A: T.Buffer((16, 32), "float32"), S: T.Buffer((16,), "float32")'


def sums(outer: str, inner: str, init: str = INIT, before: str = "") -> str:
    body = SUM.format(outer=outer, inner=inner, init=init if init else "T.evaluate(0)")
    if init:
        body = body.replace(INIT, "with T.init():\n                S[vi] = T.float32(0)")
    else:
        body = body.replace("            T.evaluate(0)\n", "")
    return text(SUMS, before + body)


def test_missing_init() -> None:
    (only,) = of("missing_init", found(sums("range(16)", "range(32)", init="")))
    assert "T.init" in only.message
    assert "vk" in only.message
    assert not of("missing_init", found(sums("range(16)", "range(32)")))
    assert not of("missing_init", found(sums("range(16)", "range(32)", init="", before=START)))


def test_reduction_over_threads_without_init() -> None:
    (only,) = of("reduction_no_init", found(sums(bound(16, BX), bound(32, TX), init="")))
    assert only.severity == "error"
    assert "threadIdx.x" in only.message
    assert not of("reduction_no_init", found(sums(bound(16, BX), bound(32, TX))))
    assert not of("reduction_no_init", found(sums(bound(16, BX), "range(32)", init="")))


def test_vectorised_reduction() -> None:
    (only,) = of("reduction_vectorized", found(sums(bound(16, BX), "T.vectorized(32)")))
    assert "k (32)" in only.message
    assert not of("reduction_vectorized", found(sums(bound(16, BX), "range(32)")))


@pytest.mark.parametrize(("n", "many"), [(512, True), (16, False)])
def test_unrolled_reduction(n: int, many: bool) -> None:
    source = sums(bound(16, BX), f"T.unroll({n})").replace("32)", f"{n})")
    assert bool(of("reduction_unrolled", found(source))) is many


@pytest.mark.parametrize(("dtype", "narrow"), [("float16", True), ("float32", False)])
def test_fp16_accumulation(dtype: str, narrow: bool) -> None:
    seen = of("fp16_accumulation", found(sums("range(16)", "range(32)").replace("float32", dtype)))
    assert bool(seen) is narrow
    if narrow:
        assert "32 terms" in seen[0].message


CHAIN = """
C = T.sblock_alloc_buffer((64, 32), "float32", scope="{scope}")
for b in {block}:
    for p in {thread}:
        with T.sblock("C"):
            vb, vp = T.axis.remap("SS", [b, p])
            C[vb, vp] = A[vb, vp] + T.float32(1)
    for q in {thread}:
        with T.sblock("B"):
            vb, vq = T.axis.remap("SS", [b, q])
            B[vb, vq] = C[{read}]
"""
TWO = 'A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")'


@pytest.mark.parametrize(
    ("scope", "read", "among"),
    [
        ("local", "vb, 31 - vq", "threads"),
        ("local", "vb, vq", ""),
        ("shared", "vb, 31 - vq", ""),
        ("shared", "63 - vb, vq", "blocks"),
        ("shared.dyn", "63 - vb, vq", "blocks"),
    ],
)
def test_scope_visibility(scope: str, read: str, among: str) -> None:
    body = CHAIN.format(scope=scope, read=read, block=bound(64, BX), thread=bound(32, TX))
    seen = of("scope_visibility", found(text(TWO, body)))
    assert bool(seen) is bool(among)
    if among:
        assert f"other {among}" in seen[0].message
        assert "block C" in seen[0].message


def test_an_argument_written_by_other_threads_of_the_kernel() -> None:
    body = """
for b in {block}:
    for p in {thread}:
        with T.sblock("C"):
            vb, vp = T.axis.remap("SS", [b, p])
            C[vb, vp] = A[vb, vp] + T.float32(1)
    for q in {thread}:
        with T.sblock("B"):
            vb, vq = T.axis.remap("SS", [b, q])
            B[vb, vq] = C[{read}]
"""
    signature = TWO + ', C: T.Buffer((64, 32), "float32")'
    heads = {"block": bound(64, BX), "thread": bound(32, TX)}
    far = text(signature, body.format(read="63 - vb, vq", **heads))
    (race,) = of("scope_visibility", found(far))
    assert "global memory" in race.message
    assert not of("scope_visibility", found(text(signature, body.format(read="vb, vq", **heads))))


def test_global_scratch_names_the_buffer() -> None:
    heads = {"block": bound(64, BX), "thread": bound(32, TX)}
    body = CHAIN.format(scope="global", read="vb, 31 - vq", **heads)
    (only,) = of("global_scratch", found(text(TWO, body)))
    assert "buffer C" in only.where
    assert "set_scope" in only.cure
    shared = body.replace('"global"', '"shared"')
    assert not of("global_scratch", found(text(TWO, shared)))


@pytest.mark.parametrize(("size", "over"), [(2**31, True), (2**30, False)])
def test_index_overflow_with_sizes(size: int, over: bool) -> None:
    signature = "a: T.handle, b: T.handle"
    body = """
n = T.int32()
A = T.match_buffer(a, (n, 4), "float32")
B = T.match_buffer(b, (n, 4), "float32")
for i, j in T.grid(n, 4):
    with T.sblock("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
"""
    seen = of("index_overflow", found(text(signature, body), n=size // 4 if over else 1000))
    assert bool(seen) is over
    if over:
        assert "n =" in seen[0].message
    wide = body.replace("T.int32()", "T.int64()").replace("(n, 4)", "(n, T.int64(4))")
    assert not of("index_overflow", found(text(signature, wide), n=size))


@pytest.mark.parametrize(("n", "tile", "total"), [(70, 16, 80), (45, 32, 64), (1000, 128, 1024)])
def test_split_waste_in_the_words_of_the_split(n: int, tile: int, total: int) -> None:
    def split(factor: int) -> object:
        def apply(sch: s_tir.Schedule) -> None:
            (loop,) = sch.get_loops(sch.get_sblock("B"))
            outer, inner = sch.split(loop, [None, factor])
            sch.bind(outer, BX)
            sch.bind(inner, TX)

        return apply

    source = scale(n, ("i", n, ""), index="i")
    (only,) = of("split_waste", found(source, split(tile)))  # type: ignore[arg-type]
    assert f"split {n} by {tile}" in only.message
    assert f"= {total}" in only.message
    assert f"{100 * (total - n) / total:.2g} %" in only.message
    assert not of("split_waste", found(source, split(5)))  # type: ignore[arg-type]


def test_split_waste_with_sizes_of_64_bits() -> None:
    body = f"""
for b in T.thread_binding(T.int64(3), thread="{BX}"):
    for t in T.thread_binding(T.int64(32), thread="{TX}"):
        with T.sblock("B"):
            v = T.axis.spatial(T.int64(70), b * T.int64(32) + t)
            T.where(b * T.int64(32) + t < T.int64(70))
            B[v] = A[v]
"""
    buffer = 'T.Buffer((T.int64(70),), "float32")'
    (only,) = of("split_waste", found(text(f"A: {buffer}, B: {buffer}", body)))
    assert "split 70 by 32 -> 3 x 32 = 96 (27 % wasted)" in only.message


@pytest.mark.parametrize("threads", [32, 128])
def test_a_neighbour_that_is_not_bound_is_done_by_every_thread(threads: int) -> None:
    body = """
S = T.sblock_alloc_buffer((8, {n}), "float32", scope="shared")
for b in {block}:
    for p in {first}:
        with T.sblock("S"):
            vb, vp = T.axis.remap("SS", [b, p])
            S[vb, vp] = A[vb, vp]
    for q in {second}:
        with T.sblock("B"):
            vb, vq = T.axis.remap("SS", [b, q])
            B[vb, vq] = S[vb, vq] + T.float32(1)
"""
    signature = f'A: T.Buffer((8, {threads}), "float32"), B: T.Buffer((8, {threads}), "float32")'
    both = {"n": threads, "block": bound(8, BX), "first": bound(threads, TX)}
    loose = text(signature, body.format(second=f"range({threads})", **both))
    (only,) = of("thread_overlap", found(loose))
    assert f"{threads} threads" in only.message
    assert "block B" in only.where
    tight = text(signature, body.format(second=bound(threads, TX), **both))
    assert not of("thread_overlap", found(tight))


def test_threads_that_add_to_one_element_are_a_race() -> None:
    body = f"""
for b in {bound(4, BX)}:
    for t in {bound(32, TX)}:
        for k in range(8):
            with T.sblock("S"):
                vb = T.axis.spatial(4, b)
                vk = T.axis.reduce(8, k)
                S[vb] = S[vb] + A[vb, vk]
"""
    signature = 'A: T.Buffer((4, 8), "float32"), S: T.Buffer((4,), "float32")'
    (race,) = of("thread_overlap", found(text(signature, body)))
    assert race.severity == "error"
    assert "race" in race.message


def test_a_cross_thread_reduction_is_no_overlap() -> None:
    assert not of("thread_overlap", found(case("20"), case_schedule("20")))
    assert not of("scope_visibility", found(case("20"), case_schedule("20")))
