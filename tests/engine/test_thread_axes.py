"""Thread axes that TVM accepts and CUDA can't run are refused by us, naming the loops."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.engine.live import Live
from explorer.errors import StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS
from tests.engine import kernels

WIDE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((256, 256, 2), "float32"), B: T.Buffer((256, 256, 2), "float32")):
        for i, j, r in T.grid(256, 256, 2):
            with T.sblock("B"):
                vi, vj, vr = T.axis.remap("SSS", [i, j, r])
                B[vi, vj, vr] = A[vi, vj, vr] * T.float32(3)
"""
LONG = WIDE.replace("256, 256, 2", "70000, 256, 2")
DYNAMIC = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 64), "float32")
        B = T.match_buffer(b, (n, 64), "float32")
        for i, j in T.grid(n, 64):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(3)
"""


def _apply(text: str, *steps: tuple[Any, ...]) -> Live:
    live = Live(kernels.module(text))
    for op, *args in steps:
        live, _ = live.apply(STEPS[op](*args))
    return live


def _loop(depth: int, block: str = "B") -> LoopRef:
    return LoopRef(BlockRef(block), depth)


@pytest.mark.parametrize(
    "axis", ["threadIdx.w", "blockidx.x", "threadIdx", "warp", "", "vthread.w"]
)
def test_an_axis_that_does_not_exist(axis: str) -> None:
    with pytest.raises(StepRefused, match="is not a thread axis"):
        _apply(WIDE, ("bind", _loop(0), axis))


def test_one_axis_twice_on_a_path() -> None:
    with pytest.raises(StepRefused, match="two loops of one path: i and j inside it") as refused:
        _apply(WIDE, ("bind", _loop(0), "threadIdx.x"), ("bind", _loop(1), "threadIdx.x"))
    assert "diagonal" in refused.value.problem.why


def test_one_axis_twice_is_found_from_the_outside_too() -> None:
    with pytest.raises(StepRefused, match="i and j inside it"):
        _apply(WIDE, ("bind", _loop(1), "blockIdx.x"), ("bind", _loop(0), "blockIdx.x"))


def test_virtual_threads_may_share_an_axis() -> None:
    live = _apply(WIDE, ("bind", _loop(0), "vthread.x"), ("bind", _loop(2), "vthread.x"))
    assert live.mod.script().count('thread="vthread.x"') == 2


def test_too_many_threads_in_a_block_names_the_loops() -> None:
    with pytest.raises(StepRefused, match=r"65536 threads: 256 \(i\) × 256 \(j\)"):
        _apply(WIDE, ("bind", _loop(0), "threadIdx.y"), ("bind", _loop(1), "threadIdx.x"))


@pytest.mark.parametrize(
    ("text", "depth", "axis", "words"),
    [
        (WIDE, 0, "threadIdx.z", "i has 256 iterations: too many for threadIdx.z"),
        (LONG, 0, "threadIdx.x", "i has 70000 iterations: too many for threadIdx.x"),
        (LONG, 0, "blockIdx.y", "i has 70000 iterations: too many for blockIdx.y"),
    ],
)
def test_limits_of_one_axis(text: str, depth: int, axis: str, words: str) -> None:
    with pytest.raises(StepRefused, match=words):
        _apply(text, ("bind", _loop(depth), axis))


def test_the_largest_allowed_is_allowed() -> None:
    live = _apply(
        LONG, ("bind", _loop(0), "blockIdx.x"), ("bind", _loop(1), "threadIdx.x"),
        ("bind", _loop(2), "threadIdx.y"),
    )  # fmt: skip
    assert live.mod.script().count("T.thread_binding") == 3


def test_two_extents_of_one_axis_in_a_kernel() -> None:
    steps = (
        ("compute_inline", BlockRef("B")),
        ("split", _loop(1, "D"), (None, 32)),
        ("set_scope", BlockRef("C"), 0, "shared"),
        ("reverse_compute_at", BlockRef("E"), _loop(0, "C")),
        ("bind", _loop(0, "C"), "blockIdx.x"),
        ("bind", _loop(1, "C"), "threadIdx.x"),
        ("split", _loop(1, "E"), (None, 32)),
    )
    live = _apply(kernels.CHAIN, *steps)
    with pytest.raises(StepRefused, match=r"two extents in one kernel: 64 for .* and 32 for") as no:
        live.apply(STEPS["bind"](_loop(2, "E"), "threadIdx.x"))
    assert no.value.problem.do == "Split the loop of 64 by 32 first, and bind the inner part."


def test_separate_kernels_may_differ() -> None:
    live = _apply(
        kernels.CHAIN,
        ("bind", _loop(0, "B"), "blockIdx.x"),
        ("bind", _loop(1, "C"), "blockIdx.x"),
    )
    assert live.mod.script().count('thread="blockIdx.x"') == 2


def test_joining_two_kernels_that_differ_is_refused_where_it_happens() -> None:
    """compute_at does not bind, but it can put two sizes of one axis into a kernel."""
    split_inner = ("split", _loop(1, "C"), (None, 16))
    bound = (split_inner, ("bind", _loop(2, "C"), "threadIdx.x"))
    live = _apply(kernels.CHAIN, *bound, ("bind", _loop(1, "E"), "threadIdx.x"))
    after, _ = live.apply(STEPS["reverse_compute_at"](BlockRef("E"), _loop(0, "C")))
    after, _ = after.apply(STEPS["bind"](_loop(1, "E"), "threadIdx.x"))
    with pytest.raises(StepRefused, match="two extents in one kernel"):
        after.apply(STEPS["bind"](_loop(0, "C"), "blockIdx.x"))


def test_a_symbolic_extent_is_left_to_the_findings() -> None:
    live = _apply(DYNAMIC, ("bind", _loop(0), "threadIdx.x"), ("bind", _loop(1), "threadIdx.y"))
    assert "T.thread_binding(n" in live.mod.script()


def test_what_was_wrong_before_does_not_block_other_steps() -> None:
    text = WIDE.replace(
        "for i, j, r in T.grid(256, 256, 2):",
        'for i in T.thread_binding(256, thread="threadIdx.z"):\n'
        "          for j, r in T.grid(256, 2):",
    )
    live = _apply(text, ("bind", _loop(1), "blockIdx.x"))
    assert 'thread="blockIdx.x"' in live.mod.script()
