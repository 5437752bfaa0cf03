"""The noted Python gives the same module; a step never changes the schedule it came from."""

from __future__ import annotations

import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.engine.live import Live
from explorer.errors import StepRefused
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, decode_steps, encode_steps
from tests.engine import kernels
from tests.engine.walks import walk

TEXTS = [kernels.MATMUL, kernels.CHAIN, kernels.TWO_FUNCTIONS]
C = BlockRef("C")


def run_lines(mod: tvm.IRModule, lines: list[str]) -> tvm.IRModule:
    """The module after the noted lines, run as the plain Python they are."""
    scope = {"tvm": tvm, "sch": tvm.s_tir.Schedule(mod)}
    exec("\n".join(lines), scope)
    return scope["sch"].mod


@settings(max_examples=40, deadline=None)
@given(text=st.sampled_from(TEXTS), seed=st.integers(0, 2**32), length=st.integers(1, 14))
def test_lines_steps_and_json_give_the_same_module(text: str, seed: int, length: int) -> None:
    mod = kernels.module(text)
    before = mod.script()
    live, steps = walk(mod, seed, length)
    tvm.ir.assert_structural_equal(run_lines(mod, live.lines), live.mod)
    again = Live(mod)
    for step in decode_steps(encode_steps(tuple(steps))):
        again, _ = again.apply(step)
    tvm.ir.assert_structural_equal(again.mod, live.mod)
    assert again.lines == live.lines
    assert mod.script() == before


@settings(max_examples=10, deadline=None)
@given(text=st.sampled_from(TEXTS), seed=st.integers(0, 2**32))
def test_a_step_leaves_the_schedule_it_came_from(text: str, seed: int) -> None:
    live, steps = walk(kernels.module(text), seed, 6)
    script, lines, names = live.mod.script(), list(live.lines), dict(live.names)
    for step in steps:
        try:
            live.apply(step)
        except StepRefused:
            continue
    assert live.mod.script() == script
    assert live.lines == lines
    assert live.names == names


def _apply(text: str, *steps: tuple) -> Live:
    live = Live(kernels.module(text))
    for op, *args in steps:
        live, _ = live.apply(STEPS[op](*args))
    return live


def test_lines_use_the_loops_own_names_and_reuse_them() -> None:
    live = _apply(
        kernels.MATMUL,
        ("split", LoopRef(C, 0, "i"), (None, 16)),
        ("split", LoopRef(C, 2, "j"), (None, 16)),
        ("reorder", (LoopRef(C, 2, "j_0"), LoopRef(C, 1, "i_1"))),
        ("bind", LoopRef(C, 0, "i_0"), "blockIdx.y"),
    )
    assert live.lines == [
        'C = sch.get_sblock("C")',
        "i, j, k = sch.get_loops(C)",
        "i_0, i_1 = sch.split(i, factors=[None, 16])",
        "j_0, j_1 = sch.split(j, factors=[None, 16])",
        "sch.reorder(j_0, i_1)",
        'sch.bind(i_0, "blockIdx.y")',
    ]


def test_another_function_is_named_in_get_sblock() -> None:
    live = _apply(kernels.TWO_FUNCTIONS, ("parallel", LoopRef(BlockRef("out", 0, "fwd"), 0, "i")))
    assert live.lines[0] == 'out = sch.get_sblock("out", func_name="fwd")'


def test_blocks_of_one_name_are_reached_through_their_parent() -> None:
    second = LoopRef(BlockRef("out", 1, "bwd"), 0, "i")
    live = _apply(kernels.TWO_FUNCTIONS, ("bind", second, "blockIdx.x"))
    assert live.lines[:2] == [
        'root = sch.get_sblock("root", func_name="bwd")',
        "out = sch.get_child_blocks(root)[1]",
    ]


def test_an_index_map_is_written_so_that_tvm_takes_it() -> None:
    live = _apply(
        kernels.CHAIN,
        ("transform_layout", BlockRef("B"), ("write", 0), "lambda i, j: (i // 4, j, i % 4, 0)"),
    )
    assert live.lines[-1] == (
        'sch.transform_layout(B, ("write", 0), '
        'lambda i, j: (i // 4, j, i % 4, tvm.tirx.IntImm("int32", 0)))'
    )
    tvm.ir.assert_structural_equal(run_lines(kernels.module(kernels.CHAIN), live.lines), live.mod)


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        (LoopRef(C, 7), "no loop number 7"),
        (LoopRef(C, 0, "x"), "The loop x of block C is gone: i is there now."),
        (LoopRef(BlockRef("Q"), 0), "has no block Q any more. Its blocks are: C, root."),
        (LoopRef(BlockRef("C", 0, "other"), 0), "no function other"),
    ],
)
def test_a_reference_that_is_gone_is_refused_by_name(ref: LoopRef, words: str) -> None:
    with pytest.raises(StepRefused, match=words.replace(".", r"\.")):
        _apply(kernels.MATMUL, ("unroll", ref))


def test_a_whole_pass_replaces_the_module_and_forgets_the_names() -> None:
    live = _apply(kernels.MATMUL, ("unroll", LoopRef(C, 0, "i")))
    other = kernels.module(kernels.CHAIN)
    live.transform("Swap", lambda mod: other, ["sch = tvm.s_tir.Schedule(other)"])
    assert live.names == {}
    assert live.lines[-1] == "sch = tvm.s_tir.Schedule(other)"
    tvm.ir.assert_structural_equal(live.mod, other)
    after, _ = live.apply(STEPS["unroll"](LoopRef(BlockRef("B"), 0, "i")))
    assert after.lines[-3:] == [
        'B = sch.get_sblock("B")',
        "i, j = sch.get_loops(B)",
        "sch.unroll(i)",
    ]


def test_a_whole_pass_can_change_only_its_own_copy() -> None:
    live = Live(kernels.module(kernels.MATMUL))
    before = live.mod.script()

    def spoil(mod: tvm.IRModule) -> tvm.IRModule:
        mod["main"] = mod["main"].with_attr("tirx.is_scheduled", True)
        raise ValueError("no")

    with pytest.raises(StepRefused, match="Spoil does not apply here"):
        live.transform("Spoil", spoil, [])
    assert live.mod.script() == before
    assert live.lines == []
