"""DefaultGPUSchedule where TVM's own pass gives up, and where it can't be had."""

from __future__ import annotations

import msgspec
from tvm_ffi import structural_equal

from explorer.engine.default_gpu import run_pass
from explorer.engine.live import Live
from explorer.engine.propose import propose_on
from explorer.model.result import RuleOutcome
from explorer.primitives import Step, decode_steps
from tests.strategies.conftest import TARGET, elementwise, load, matmul


def steps_and_outcome(*functions: str) -> tuple[tuple[Step, ...], RuleOutcome]:
    proposal = propose_on(Live(load(*functions)), "default_gpu", TARGET)
    return decode_steps(msgspec.json.encode(proposal.steps)), proposal.outcomes[0]


def axes(steps: tuple[Step, ...]) -> list[str]:
    return [step.thread_axis for step in steps if step.op() == "bind"]  # type: ignore[attr-defined]


def test_two_blocks_of_one_name_are_two_kernels() -> None:
    mod = load(elementwise("main", "copy", "copy"))
    steps, outcome = steps_and_outcome(elementwise("main", "copy", "copy"))
    assert outcome.status == "applied"
    assert axes(steps) == ["blockIdx.x", "threadIdx.x"] * 2
    live = Live(mod)
    for step in steps:
        live, _ = live.apply(step)
    assert structural_equal(live.mod["main"], run_pass(mod, TARGET, "main")["main"])


def test_block_names_come_back_and_no_unit_loop_stays() -> None:
    script = run_pass(load(elementwise("main", "one", "two")), TARGET, "main")["main"].script()
    assert 'T.sblock("one")' in script
    assert 'T.sblock("two")' in script
    assert "range(1)" not in script
    assert "is_scheduled" not in script


def test_more_elements_than_threads_leave_a_loop_in_each_thread() -> None:
    steps, _ = steps_and_outcome(elementwise("main", "big", shape="1024, 1024"))
    split = next(step for step in steps if step.op() == "split")
    assert split.factors == (None, 256, 1024)  # type: ignore[attr-defined]
    assert any(step.op() == "reorder" for step in steps)


def test_fewer_elements_than_a_block_are_one_block() -> None:
    steps, _ = steps_and_outcome(elementwise("main", "small", shape="7, 9"))
    split = next(step for step in steps if step.op() == "split")
    assert split.factors == (None, 63)  # type: ignore[attr-defined]


def test_a_reduction_in_the_middle_is_said_to_be_in_the_wrong_place() -> None:
    text = matmul().replace("for i, j, k in T.grid", "for i, k, j in T.grid")
    steps, outcome = steps_and_outcome(text)
    assert steps == ()
    assert outcome.status == "failed"
    assert "block C" in outcome.reason
    assert "Reorder the loops first" in outcome.reason


def test_in_place_blocks_are_named() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * T.float32(2)
"""
    _, outcome = steps_and_outcome(text)
    assert outcome.status == "failed"
    assert "Block twice reads the buffer it writes" in outcome.reason


def test_without_a_block_there_is_nothing_to_bind() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
"""
    steps, outcome = steps_and_outcome(text)
    assert steps == ()
    assert outcome.status == "declined"
    assert "T.sblock" in outcome.reason


def test_host_functions_and_scheduled_ones_are_left_alone() -> None:
    host = elementwise("shape", "h", shape="4").replace(
        "    for i0", '    T.func_attr({"target": T.target("llvm")})\n    for i0'
    )
    mod = load(elementwise("main", "one"), host)
    proposal = propose_on(Live(mod), "default_gpu", TARGET)
    assert {o.function: o.status for o in proposal.outcomes} == {
        "main": "applied", "shape": "skipped"
    }  # fmt: skip
    live = Live(mod)
    for step in decode_steps(msgspec.json.encode(proposal.steps)):
        live, _ = live.apply(step)
    again = propose_on(live, "default_gpu", TARGET, "main")
    assert again.steps == []
    assert "blockIdx.x, threadIdx.x" in again.outcomes[0].reason


def test_a_stale_mark_is_said_and_does_not_stop_it() -> None:
    marked = elementwise("main", "one").replace(
        "    for i0", '    T.func_attr({"tirx.is_scheduled": True})\n    for i0'
    )
    steps, outcome = steps_and_outcome(marked)
    assert outcome.status == "applied"
    assert len(steps) == 4
    assert "tirx.is_scheduled although nothing is bound" in outcome.reason


def test_an_opaque_function_stays_one_step_and_says_so() -> None:
    text = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    with T.sblock("all"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for i in range(8):
            B[i] = A[i]
"""
    mod = load(text)
    proposal = propose_on(Live(mod), "default_gpu", TARGET)
    steps = decode_steps(msgspec.json.encode(proposal.steps))
    assert [step.op() for step in steps] == ["default_gpu_schedule"]
    assert not proposal.manual
    assert "one step" in proposal.note
    live, _ = Live(mod).apply(steps[0])
    assert structural_equal(live.mod["main"], run_pass(mod, TARGET, "main")["main"])
    assert mod.script() == load(text).script()


def test_an_empty_loop_is_left_alone_with_its_reason() -> None:
    empty = elementwise("main", "copy", shape="0, 48")
    for way in ("default_gpu", "dlight"):
        proposal = propose_on(Live(load(empty)), way, TARGET)
        assert proposal.steps == []
        assert {each.status for each in proposal.outcomes} == {"skipped"}
        assert "Nothing to compute: loop" in proposal.outcomes[0].reason
