"""Functions scheduled or written wrongly: what is said of them, and of their right twins."""

from __future__ import annotations

import pytest
import tvm
from tvm import ir, s_tir

from explorer.engine.check import check, check_module
from explorer.engine.load import module
from explorer.model.loaded import Source
from explorer.model.result import Check
from explorer.model.target import Target


def mod(arguments: str, text: str) -> ir.IRModule:
    head = (
        f"@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def main({arguments}):\n"
    )
    return module(Source(head + '        T.func_attr({"tirx.noalias": True})\n' + text))


def one(found: tuple[tuple[str, Check], ...]) -> Check:
    ((_, verdict),) = found
    return verdict


ROWS = 'A: T.Buffer((64, 100), "float32"), B: T.Buffer((64,), "float32")'
SUM = """
        for i, k in T.grid(64, 100):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""


def bound(original: ir.IRModule) -> ir.IRModule:
    sch = s_tir.Schedule(ir.IRModule(dict(original.functions_items())))
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(k, "threadIdx.x")
    return sch.mod


def test_a_reduction_across_threads_with_a_warp_synchronous_tail(target: Target) -> None:
    original = mod(ROWS, SUM)
    assert one(check_module(original, bound(original), target, {})).status == "match"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("A[vi, vk]", "A[vi, 99 - vk] * T.float32(2)"),
        ("A[vi, vk]", "T.if_then_else(vk < 99, A[vi, vk], T.float32(0))"),
        ("A[vi, vk]", "A[63 - vi, vk]"),
    ],
)
def test_a_kernel_of_another_function_does_not_match(
    right: str, wrong: str, target: Target
) -> None:
    original, other = mod(ROWS, SUM), mod(ROWS, SUM.replace(right, wrong))
    verdict = one(check_module(original, bound(other), target, {}))
    assert verdict.status == "mismatch"
    assert "of 64 elements of B differ; first B[" in verdict.detail


def test_results_that_nobody_writes(target: Target) -> None:
    original = mod(ROWS, SUM)
    half = SUM.replace("T.grid(64, 100)", "T.grid(32, 100)")
    verdict = one(check_module(original, bound(mod(ROWS, half)), target, {}))
    assert verdict.status == "mismatch"
    assert "32 of 64 elements of B differ; first B[32]: never written, expected" in verdict.detail


def test_what_the_original_leaves_undefined_is_no_value_to_expect(target: Target) -> None:
    half = mod(ROWS, SUM.replace("T.grid(64, 100)", "T.grid(32, 100)"))
    verdict = one(check_module(half, bound(mod(ROWS, SUM)), target, {}))
    assert verdict.status == "mismatch"
    assert "32 of 64 elements of B differ; first B[32]: got" in verdict.detail
    assert "and the unscheduled function leaves it undefined" in verdict.detail


UNWRITTEN = """
        W = T.sblock_alloc_buffer((64,))
        for i in range({written}):
            with T.sblock("W"):
                vi = T.axis.spatial({written}, i)
                W[vi] = A[vi, 0]
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = W[vi] + A[vi, {column}]
"""


def doubly_bound(original: ir.IRModule) -> ir.IRModule:
    sch = s_tir.Schedule(ir.IRModule(dict(original.functions_items())))
    for block in ("W", "B"):
        (loop,) = sch.get_loops(sch.get_sblock(block))
        sch.bind(loop, "threadIdx.x")
    return sch.mod


@pytest.mark.parametrize(
    ("written", "column", "status", "words"),
    [
        (64, 1, "match", "All elements agree"),
        (40, 1, "not_checked", "24 of 64 elements of B have no right value: the unscheduled func"),
        (40, 2, "mismatch", "40 of 64 elements of B differ; first B[0]: got"),
    ],
)
def test_what_the_original_makes_of_unwritten_memory_is_neither_right_nor_wrong(
    written: int, column: int, status: str, words: str, target: Target
) -> None:
    original = mod(ROWS, UNWRITTEN.format(written=written, column=1))
    scheduled = doubly_bound(mod(ROWS, UNWRITTEN.format(written=written, column=column)))
    verdict = one(check_module(original, scheduled, target, {}))
    assert verdict.status == status
    assert words in verdict.detail
    if status == "not_checked":
        assert "reads before it writes it. The others agree." in verdict.detail


HALF = """
        t = T.sblock_alloc_buffer((64,))
        for i in T.thread_binding({rows}, "threadIdx.x"):
            for j in T.thread_binding(8, "threadIdx.{axis}"):
                with T.sblock("t"):
                    v = T.axis.spatial(64, i * 8 + j)
                    t[v] = A[v, 0] {offset}
        for i in T.thread_binding(64, "threadIdx.x"):
            with T.sblock("B"):
                v = T.axis.spatial(64, i)
                B[v] = {value}
"""
"""With axis x the two loops are one thread index: only the diagonal of `t` is written."""


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        ("- T.float32(1000)", "T.max(t[v], T.float32(0))"),
        ("+ T.float32(1000)", "T.min(t[v], T.float32(0))"),
        ("- T.float32(3)", "T.if_then_else(t[v] > T.float32(50), T.float32(1), T.float32(2))"),
    ],
)
def test_garbage_that_max_or_a_comparison_hides_is_no_match(
    offset: str, value: str, target: Target
) -> None:
    original = mod(ROWS, HALF.format(rows=8, axis="x", offset=offset, value=value))
    verdict = one(check_module(original, original, target, {}))
    assert verdict.status == "mismatch", verdict.detail
    assert "is read before it is written" in verdict.detail
    right = mod(ROWS, HALF.format(rows=8, axis="y", offset=offset, value=value))
    assert one(check_module(right, right, target, {})).status == "match"


COMPARED = UNWRITTEN.replace("W[vi] + A[vi, {column}]", "{value}")


@pytest.mark.parametrize(
    "value",
    [
        "T.if_then_else(W[vi] > T.float32(-5), T.float32(1), T.float32(2))",
        "T.if_then_else(W[vi] < T.float32(-1000), T.float32(1), T.float32(2))",
        "T.max(W[vi], A[vi, 1])",
    ],
)
def test_a_right_kernel_is_not_accused_of_what_was_never_written(
    value: str, target: Target
) -> None:
    original = mod(ROWS, COMPARED.format(written=40, value=value))
    verdict = one(check_module(original, doubly_bound(original), target, {}))
    assert verdict.status == "not_checked", verdict.detail
    assert "24 of 64 elements of B have no right value" in verdict.detail


def test_elements_without_a_right_value_hide_no_other_fault(target: Target) -> None:
    arguments = ROWS + ', P: T.Buffer((64,), "float32")'
    copy = """
        for i in T.thread_binding(8, "threadIdx.x"):
            for j in T.thread_binding(8, "threadIdx.{axis}"):
                with T.sblock("P"):
                    v = T.axis.spatial(64, i * 8 + j)
                    P[v] = A[63 - v, 5]
"""
    text = UNWRITTEN.format(written=40, column=1)
    for axis, status in (("x", "mismatch"), ("y", "not_checked")):
        original = mod(arguments, text + copy.format(axis=axis))
        verdict = one(check_module(original, doubly_bound(original), target, {}))
        assert verdict.status == status, verdict.detail
        assert ("elements of P differ" in verdict.detail) == (axis == "x")


def test_a_sample_of_blocks_knows_what_has_no_right_value(target: Target) -> None:
    arguments = 'A: T.Buffer((16384, 1024), "float32"), B: T.Buffer((16384, 1024), "float32")'
    text = """
        for bx in T.thread_binding(16384, "blockIdx.x"):
            with T.sblock("row"):
                r = T.axis.spatial(16384, bx)
                s = T.sblock_alloc_buffer((1025,), scope="shared")
                for i in T.thread_binding(1024, "threadIdx.x"):
                    with T.sblock("s"):
                        v = T.axis.spatial(1024, i)
                        s[v] = A[r, v]
                for i in T.thread_binding(1024, "threadIdx.x"):
                    with T.sblock("B"):
                        v = T.axis.spatial(1024, i)
                        B[r, v] = s[v] + s[v + 1]
"""
    original = mod(arguments, text)
    verdict = one(check_module(original, original, target, {}))
    assert verdict.status == "not_checked", verdict.detail
    assert "elements of B have no right value" in verdict.detail


def test_a_scatter_tells_that_its_targets_were_all_different(target: Target) -> None:
    arguments = (
        'P: T.Buffer((24,), "int32"), A: T.Buffer((24, 5), "float32"), '
        'B: T.Buffer((40, 5), "float32")'
    )
    text = """
        for i, k in T.grid(24, 5):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[P[vi], vk] = A[vi, vk]
"""
    original = mod(arguments, text)
    verdict = one(check_module(original, bound(original), target, {}))
    assert verdict.status == "match"
    assert "Values of P, which say where results go, were all different" in verdict.detail


def test_neighbours_through_global_memory_race(target: Target) -> None:
    text = """
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("M"):
                    v = T.axis.spatial(256, bx * 64 + tx)
                    M[v] = A[v] * T.float32(2)
                with T.sblock("C"):
                    v = T.axis.spatial(256, bx * 64 + tx)
                    C[v] = M[(v + 1) % 256]
"""
    names = ", ".join(f'{name}: T.Buffer((256,), "float32")' for name in "AMC")
    wrong = mod(names, text)
    verdict = one(check_module(wrong, wrong, target, {}))
    assert verdict.status == "race"
    assert verdict.detail.startswith("Race on M[")
    assert "thread (" in verdict.detail


def test_a_loop_left_on_the_host_cannot_run(target: Target) -> None:
    names = ", ".join(f'{name}: T.Buffer((64,), "float32")' for name in "AC")
    text = """
        for i in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("C"):
                v = T.axis.spatial(64, i)
                C[v] = A[v]
        for i in range(64):
            with T.sblock("D"):
                v = T.axis.spatial(64, i)
                C[v] = C[v] + T.float32(1)
"""
    wrong = mod(names, text)
    verdict = one(check_module(wrong, wrong, target, {}))
    assert verdict.status == "not_checked"
    assert verdict.detail.startswith("Cannot run on a GPU: the host code itself reads or writes C")


def test_one_wrong_term_of_a_half_precision_sum_shows(target: Target) -> None:
    rows, text = ROWS.replace("float32", "float16"), SUM.replace("float32", "float16")
    original = mod(rows, text)
    skips = text.replace("A[vi, vk]", "T.if_then_else(vk == 57, T.float16(0), A[vi, vk])")
    assert one(check_module(original, bound(original), target, {})).status == "match"
    assert one(check_module(original, bound(mod(rows, skips)), target, {})).status == "mismatch"


def test_an_update_in_place_gets_fresh_inputs_for_each_run(target: Target) -> None:
    text = """
        for i in T.thread_binding(64, thread="blockIdx.x"):
            with T.sblock("A"):
                v = T.axis.spatial(64, i)
                A[v] = A[v] * T.float32(2)
"""
    inplace = mod('A: T.Buffer((64,), "float32")', text)
    assert one(check_module(inplace, inplace, target, {})).status == "match"
    twice = mod('A: T.Buffer((64,), "float32")', text.replace("(2)", "(4)"))
    assert one(check_module(inplace, twice, target, {})).status == "mismatch"


def test_a_large_problem_is_checked_on_a_sample_of_blocks(target: Target) -> None:
    text = SUM.replace("64, 100", "4096, 8192")
    rows = ROWS.replace("64, 100", "4096, 8192").replace("(64,)", "(4096,)")
    original = mod(rows, text)

    def scheduled(of: ir.IRModule) -> ir.IRModule:
        sch = s_tir.Schedule(ir.IRModule(dict(of.functions_items())))
        i, _ = sch.get_loops(sch.get_sblock("B"))
        outer, inner = sch.split(i, [None, 32])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        return sch.mod

    verdict = one(check_module(original, scheduled(original), target, {}))
    assert verdict.status == "match"
    assert "on a sample of" in verdict.covered
    assert "of 128 blocks" in verdict.covered
    wrong = mod(rows, text.replace("A[vi, vk]", "A[vi, vk] + A[vi, 0]"))
    assert one(check_module(original, scheduled(wrong), target, {})).status == "mismatch"


def test_dynamic_shapes_are_run_on_sizes_that_tiles_do_not_divide(target: Target) -> None:
    head = """@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1)
"""
    original = module(Source(head))

    def scheduled(guard: bool) -> ir.IRModule:
        sch = s_tir.Schedule(ir.IRModule(dict(original.functions_items())))
        (i,) = sch.get_loops(sch.get_sblock("B"))
        outer, inner = sch.split(i, [None, 64], disable_predication=not guard)
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
        return sch.mod

    right = one(check_module(original, scheduled(True), target, {"n": 128}))
    assert right.status == "match"
    assert all(f"n = {n}:" in right.covered for n in (128, 1, 37, 129))
    assert "n = 0: Cannot launch" in right.detail
    wrong = one(check_module(original, scheduled(False), target, {"n": 128}))
    assert wrong.status == "out_of_bounds"
    assert "With n = 1." in wrong.detail


def test_the_process_is_left_as_it_was(target: Target) -> None:
    before = tvm.get_global_func("target.build.llvm")
    original = mod(ROWS, SUM)
    check(Source(str(original.script())), (), target, {})
    assert tvm.get_global_func("target.build.llvm").same_as(before)


def test_functions_that_are_no_kernels_say_so(target: Target) -> None:
    verdict = one(check_module(mod(ROWS, SUM), mod(ROWS, SUM), target, {}))
    assert verdict.status == "not_checked"
    assert verdict.detail.startswith("No kernel")


def test_sizes_we_choose_keep_inside_buffers_of_static_shape(target: Target) -> None:
    arguments = 'A: T.Buffer((3, 1), "float32"), b: T.handle'
    text = """
        p, q = T.int32(), T.int32()
        B = T.match_buffer(b, (p, q))
        for i, j in T.grid(p, q):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, 0]
"""
    original = mod(arguments, text)
    sch = s_tir.Schedule(original)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(j, [None, 32])[1], "threadIdx.x")
    verdict = one(check_module(original, sch.mod, target, {}))
    assert verdict.status == "match"
    assert "p = 3, q = 5" in verdict.covered
