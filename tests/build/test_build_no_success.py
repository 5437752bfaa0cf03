"""No silent success: what is not wholly a kernel is an error that names loops and blocks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from explorer.cures import cure_steps
from explorer.engine.build import build
from explorer.engine.replay import scheduled
from explorer.model.loaded import Source
from explorer.model.result import Build, Finding, FunctionBuild
from explorer.model.target import Target
from explorer.primitives import Step

Builder = Callable[..., Build]
Made = Callable[..., tuple[Source, tuple[Step, ...]]]

PARTLY = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def two(A: T.Buffer((48, 16), "float32"), C: T.Buffer((48, 16), "float32")):
        B = T.sblock_alloc_buffer((48, 16))
        for i, j in T.grid(48, 16):
            with T.sblock("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for p, q in T.grid(48, 16):
            with T.sblock("second"):
                vi, vj = T.axis.remap("SS", [p, q])
                C[vi, vj] = B[vi, vj] * T.float32(3)
"""
BIND_SECOND = (
    'def apply(sch):\n    p, q = sch.get_loops(sch.get_sblock("second", func_name="two"))\n'
    '    sch.bind(p, "blockIdx.x")\n'
)
GLOBAL_SCRATCH = """
def apply(sch):
    sch.work_on("rownorm")
    i, k = sch.get_loops(sch.get_sblock("s"))
    sch.bind(i, "blockIdx.x")
"""
SPLIT_AND_BIND = """
def apply(sch):
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    a, b = sch.split(i, [None, 32])
    sch.bind(a, "blockIdx.x")
"""
EMPTY = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def none(A: T.Buffer((0, 8), "float32"), B: T.Buffer((0, 8), "float32")):
        for i, j in T.grid(0, 8):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""
UNROLLED_OUTSIDE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3, 64), "float32")):
        for r in T.serial(3):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("B"):
                    vr, vt = T.axis.remap("SS", [r, t])
                    B[vr, vt] = A[vr, vt]
"""


def function(build: Build, name: str) -> FunctionBuild:
    return next(each for each in build.functions if each.name == name)


def errors(build: Build, code: str) -> list[Finding]:
    return [each for each in build.findings if (each.code, each.severity) == (code, "error")]


@pytest.mark.parametrize(
    ("number", "name", "loops", "node"),
    [
        ("10", "main", "i, j, k are unbound", "main/0"),
        ("20", "rownorm", "i, k, j are unbound", "rownorm/0"),
        ("24", "gpu_add", "i is unbound", "gpu_add/0"),
        ("09", "scale", "i, j are unbound", "scale/0"),
        ("70", "main", "i, j are unbound", "main/0"),
        ("67", "main", "i, j, k are unbound", "main/0"),
    ],
)
def test_an_unbound_function_is_no_success(
    number: str, name: str, loops: str, node: str, built: Builder
) -> None:
    found = built(number)
    assert found.status == "failed"
    assert function(found, name).status == "no_kernel"
    assert f"No kernel: {loops}" in function(found, name).reason
    (first, *_) = errors(found, "no_kernel")
    assert first.node == node
    assert first.cures == (f"bind:{node}", "strategy:default_gpu", "strategy:dlight")
    assert "Bind i to blockIdx.x or threadIdx.x" in first.cure


def test_a_function_without_blocks_says_so(built: Builder) -> None:
    found = built("12")
    assert function(found, "pack").status == "no_kernel"
    assert "no T.sblock was found" in found.reason
    (error,) = errors(found, "no_kernel")
    assert error.where == "loops jo, ji"
    assert "wrap the store in a T.sblock" in error.cure


def test_a_block_without_loops_says_what_to_do(built: Builder) -> None:
    found = built("33")
    assert "without a loop" in function(found, "cast").reason
    assert any("add_unit_loop" in each.cure for each in errors(found, "no_kernel"))


def test_a_host_loop_around_a_kernel_is_an_error_with_its_count(built: Builder) -> None:
    found = built("16")
    assert found.status == "failed"
    (kernel,) = function(found, "main").kernels
    assert kernel.launches == "64"
    assert "r (64) is outside the bound loops" in found.reason
    (error,) = errors(found, "host_loop_launch")
    assert (error.node, error.cure_id) == ("main/0", "bind:main/0")
    assert "the host launches the kernel 64 times" in error.message
    assert "Bind r to blockIdx.y" in error.cure


def test_a_thread_kernel_in_a_host_loop_counts_too(built: Builder) -> None:
    found = built(UNROLLED_OUTSIDE)
    assert found.status == "failed"
    assert found.functions[0].kernels[0].launches == "3"
    assert errors(found, "host_loop_launch")[0].where == "loop r (3)"


def test_work_left_on_the_host_is_an_error_that_names_the_block(built: Builder) -> None:
    found = built(PARTLY, BIND_SECOND)
    two = function(found, "two")
    assert (found.status, two.status) == ("failed", "no_kernel")
    assert "Part of the work has no kernel and runs on the host: block first" in two.reason
    assert "i, j are unbound" in two.reason
    assert [kernel.name for kernel in two.kernels] == ["two_kernel"]
    (error,) = errors(found, "partly_on_host")
    assert (error.node, error.cures[0]) == ("two/0", "bind:two/0")


def test_one_failing_function_does_not_hide_the_others(built: Builder) -> None:
    found = built("33", "default_gpu")
    assert function(found, "cast").status == "built"
    assert function(found, "cast").kernels[0].source


def test_scratch_in_global_memory_is_named(built: Builder) -> None:
    found = built("20", GLOBAL_SCRATCH)
    assert function(found, "rownorm").status in ("no_kernel", "built")
    said = found.reason + " ".join(each.message for each in found.findings)
    assert found.status == "failed"
    assert "s" in said
    assert "set_scope" in said + " ".join(each.cure for each in found.findings)


def test_relax_host_and_empty_functions_are_skipped_with_a_reason(built: Builder) -> None:
    relax = function(built("09"), "main")
    assert relax.status == "skipped"
    assert "calls scale" in relax.reason
    assert "R.power has no PrimFunc until LegalizeOps" in relax.reason
    host = function(built("24", "default_gpu"), "shape_calc")
    assert (host.status, host.reason) == ("skipped", "Host function: its own target is llvm.")
    assert built("24", "default_gpu").status == "built"
    empty = built(EMPTY)
    assert empty.status == "not_applicable"
    assert function(empty, "none").reason == "Nothing to compute: loop i has extent 0."
    assert empty.reason.endswith("none: Nothing to compute: loop i has extent 0.")


REDUCED_BY_BLOCKS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((48, 24), "float32"), B: T.Buffer((24,), "float32")):
    for bx in T.thread_binding(48, thread="blockIdx.x"):
        for tx in T.thread_binding(24, thread="threadIdx.x"):
            with T.sblock("b"):
                vj, vi = T.axis.remap("SR", [tx, bx])
                with T.init():
                    B[vj] = T.float32(0)
                B[vj] = B[vj] + A[vi, vj]
"""
GUARDED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((45,), "float32"), B: T.Buffer((45,), "float32")):
    for i in range(45):
        with T.sblock("b"):
            vi = T.axis.spatial(45, i)
            T.where(i % 2 == 0)
            B[vi] = A[vi]
"""


def test_tvms_underlined_listing_is_no_reason(built: Builder) -> None:
    found = built(REDUCED_BY_BLOCKS)
    (reason,) = (each.reason for each in found.functions)
    assert "Cross-thread reduction requires" in reason
    assert "^" not in reason
    assert "Check failed" not in reason


def test_a_condition_on_a_loop_that_is_gone_is_explained(built: Builder) -> None:
    found = built(GUARDED, "dlight")
    assert "i is used in main, but no loop and no parameter defines it any more" in found.reason


def test_a_step_that_no_longer_applies_makes_the_build_refused(made: Made, target: Target) -> None:
    source, steps = made("10", SPLIT_AND_BIND)
    found = build(source, steps[1:], target, {})
    assert found.status == "refused"
    assert found.refusal is not None
    assert "That step was skipped." in found.reason


@pytest.mark.parametrize("number", ["10", "24", "67", "16", "89"])
def test_the_one_click_cure_of_a_loop_gives_a_kernel(
    number: str, made: Made, target: Target
) -> None:
    source, _ = made(number)
    before = build(source, (), target, {})
    steps: tuple[Step, ...] = ()
    for each in before.findings:
        if each.cure_id.startswith("bind:"):
            _, nest = scheduled(source, ())
            func = nest.function(each.function)
            assert func is not None
            steps += cure_steps(func, each.cure_id)
    assert steps
    after = build(source, steps, target, {})
    assert after.status == "built", after.reason
