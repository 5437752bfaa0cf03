"""Schedule files become steps that give the module which running the file in Python gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tvm import ir, s_tir
from tvm.s_tir import meta_schedule as ms
from tvm.target import Target
from tvm_ffi import structural_equal

from explorer.engine.live import Live
from explorer.engine.load import load, module
from explorer.engine.read_schedule import read_on, read_schedule
from explorer.engine.record import prim_functions
from explorer.engine.refuse import REFUSALS
from explorer.engine.replay import view
from explorer.engine.trace import plain, steps_of
from explorer.engine.warm import warm
from explorer.errors import ScheduleTextError
from explorer.model.loaded import Source
from explorer.model.view import Proposal
from explorer.primitives import decode_steps
from explorer.primitives.axes import kernels_of, violations

CASES = Path(__file__).parent.parent / "cases"
WITH_SCHEDULE = sorted(path.parent.name for path in CASES.glob("*/sched.py"))
OUR_AXES = {"51_thread_extent_mismatch", "55_too_many_threads"}
"""TVM lets these schedules pass and builds wrong kernels; here their line is refused."""
TVM_REFUSES = {
    "53_bind_reduction_to_block", "63_inplace_update", "64_prefix_sum_marked_spatial",
}  # fmt: skip

MATMUL = """@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def {name}(
        A: T.Buffer((128, 128), "float16"),
        B: T.Buffer((128, 128), "float16"),
        C: T.Buffer((128, 128), "float16"),
    ):
        for i, j, k in T.grid(128, 128, 128):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float16(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm()


def case_source(name: str) -> Source:
    return Source((CASES / name / "module.py").read_text())


def apply(mod: ir.IRModule, proposal: Proposal) -> Live:
    live = Live(mod)
    for step in decode_steps(msgspec.json.encode(proposal.steps)):
        live, _ = live.apply(step)
    return live


def run_in_python(text: str, mod: ir.IRModule) -> tuple[ir.IRModule, bool]:
    """The module after really running one of our own files, and whether TVM let it finish."""
    names: dict[str, Any] = {}
    exec(text, names)
    sch = s_tir.Schedule(mod)
    try:
        names["apply"](sch)
    except REFUSALS:
        return sch.mod, False
    return sch.mod, True


@pytest.mark.parametrize("name", WITH_SCHEDULE)
def test_the_cases_schedules(name: str) -> None:
    text = (CASES / name / "sched.py").read_text()
    mod = module(case_source(name))
    wanted, finished = run_in_python(text, mod)
    proposal = read_schedule(case_source(name), text)
    assert finished == (name not in TVM_REFUSES)
    if name in OUR_AXES | TVM_REFUSES:
        assert proposal.refusal is not None
        assert proposal.refusal.line is not None
        assert proposal.outcomes[0].status == "failed"
        assert f"Line {proposal.refusal.line}" in proposal.note
        return
    assert proposal.refusal is None
    assert structural_equal(apply(mod, proposal).mod, wanted)


@pytest.mark.parametrize("name", sorted(set(WITH_SCHEDULE) - OUR_AXES - TVM_REFUSES))
def test_what_we_note_reads_back(name: str) -> None:
    mod = module(case_source(name))
    live = apply(mod, read_on(Live(mod), (CASES / name / "sched.py").read_text()))
    again = read_on(Live(mod), "sch = tvm.s_tir.Schedule(mod)\n" + "\n".join(live.lines))
    assert structural_equal(apply(mod, again).mod, live.mod)


@pytest.mark.parametrize("name", sorted(set(WITH_SCHEDULE) - OUR_AXES - TVM_REFUSES))
def test_tvms_own_traces_of_them(name: str) -> None:
    mod = module(case_source(name))
    names: dict[str, Any] = {}
    exec((CASES / name / "sched.py").read_text(), names)
    sch = s_tir.Schedule(mod)
    names["apply"](sch)
    for text in (str(sch.trace), json.dumps(plain(sch.trace.as_json()))):
        assert structural_equal(apply(mod, read_on(Live(mod), text)).mod, sch.mod)


def test_schedule_code_behind_a_module() -> None:
    source = case_source("05_whole_notebook_cell")
    steps = read_schedule(source, load(source).schedule).steps
    assert [step["op"] for step in steps] == ["bind", "bind"]
    whole = read_schedule(source, source.text)
    assert whole.steps == steps
    assert "tvm.build" in whole.note


@pytest.mark.parametrize("rules", ["cuda", "cuda-tensorcore"])
def test_metaschedule_candidates(rules: str) -> None:
    tuned = module(Source(MATMUL.format(name="main")))
    mine = module(Source(MATMUL.format(name="mine")))
    context = ms.TuneContext(
        mod=tuned,
        target=Target("nvidia/geforce-rtx-4090"),
        space_generator=ms.space_generator.PostOrderApply(
            sch_rules=rules, postprocs=rules, mutator_probs=rules
        ),
        num_threads=1,
    )
    for space in context.generate_design_space():
        sch = s_tir.Schedule(tuned)
        space.trace.apply_to_schedule(sch, remove_postproc=False)
        live, steps = steps_of(Live(mine), sch.trace, "mine")
        assert len(steps) > 10
        assert structural_equal(
            live.mod["mine"].with_attr("global_symbol", "main"),
            sch.mod["main"].with_attr("global_symbol", "main"),
        )


def test_an_undecided_sample_is_refused() -> None:
    text = (
        "def apply(sch):\n    i, j, k = sch.get_loops('C')\n"
        "    sch.split(i, sch.sample_perfect_tile(i, n=2))\n"
    )
    proposal = read_schedule(Source(MATMUL.format(name="main")), text)
    assert proposal.refusal is not None
    assert "undecided" in proposal.note


def test_steps_go_behind_those_that_are_there() -> None:
    source = Source(MATMUL.format(name="main"))
    first = read_schedule(
        source, "def apply(sch):\n    i, j, k = sch.get_loops('C')\n    sch.split(i, [None, 16])\n"
    )
    done = decode_steps(msgspec.json.encode(first.steps))
    more = read_schedule(
        source,
        "def apply(sch):\n    i0, i1, j, k = sch.get_loops('C')\n    sch.bind(i1, 'threadIdx.x')\n",
        done,
    )
    assert more.steps[0]["loop"]["name"] == "i_1"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sch.explode('C')", "not a schedule primitive"),
        ("sch.bind('C')", "can't take these arguments"),
        ("sch.unroll(sch.get_loops('C')[0], 3)", "at most 1"),
        ("sch.unroll(loop=sch.get_loops('C')[0], by=3)", "no argument by"),
        ("sch.bind(sch.get_loops('C')[0], thread=1)", "no argument thread"),
        ("x = sch.get_sblock('C')", "does nothing"),
    ],
)
def test_calls_that_do_not_exist(body: str, words: str) -> None:
    with pytest.raises(ScheduleTextError) as caught:
        read_schedule(Source(MATMUL.format(name="main")), f"def apply(sch):\n    {body}\n")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("i, j, k = sch.get_loops('C'); sch.fuse(i, j); sch.unroll(i)", "gone"),
        ("sch.get_sblock('D')", "D"),
        ("sch.work_on('other')", "no function other"),
        ("i, j, k = sch.get_loops('C'); sch.bind(i, 'threadIdx.q')", "threadIdx.q"),
    ],
)
def test_calls_that_do_not_apply_keep_what_came_before(body: str, words: str) -> None:
    text = f"def apply(sch):\n    sch.unroll(sch.get_loops('C')[2])\n    {body}\n"
    proposal = read_schedule(Source(MATMUL.format(name="main")), text)
    assert proposal.refusal is not None
    assert proposal.refusal.line == 3
    assert words in proposal.note
    assert proposal.steps[0]["op"] == "unroll"


def test_main_is_the_only_function_there_is() -> None:
    source = Source(MATMUL.format(name="mine"))
    text = "def apply(sch):\n    sch.unroll(sch.get_loops('C')[2])\n"
    proposal = read_schedule(source, text)
    assert proposal.steps[0]["loop"]["block"]["func"] == "mine"
    assert "mine" in proposal.note
    assert prim_functions(module(source)) == ("mine",)


@pytest.mark.parametrize(
    "name", ["56_nondivisible_tile_shared", "96_cross_thread_reduce_with_shared"]
)
def test_a_cooperative_copy_is_no_diagonal_on_the_nest_either(name: str) -> None:
    proposal = read_schedule(case_source(name), (CASES / name / "sched.py").read_text())
    shown = view(case_source(name), decode_steps(msgspec.json.encode(proposal.steps)))
    assert not any(step.refusal for step in shown.steps)
    for function in shown.nest.functions:
        assert violations(kernels_of(function)) == []
