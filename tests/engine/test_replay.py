"""Replaying costs the last step only, and a step that no longer applies is skipped and says why."""

from __future__ import annotations

import pytest
import tvm

from explorer.engine import replay as replaying
from explorer.engine.live import Live
from explorer.engine.replay import replay, scheduled, scheduled_module, script, view
from explorer.errors import LoadError
from explorer.model.loaded import Source
from explorer.model.nest import Loop
from explorer.model.refs import BlockRef, LoopRef
from explorer.primitives import STEPS, Step
from tests.engine import kernels

C = BlockRef("C")
SOURCE = Source(kernels.MATMUL)
SPLIT = STEPS["split"](LoopRef(C, 0, "i"), (None, 16))
BIND = STEPS["bind"](LoopRef(C, 0, "i_0"), "blockIdx.x")
UNROLL = STEPS["unroll"](LoopRef(C, 3, "k"))


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    replaying._states.clear()


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The steps that were really applied, in order."""
    seen: list[Step] = []
    apply = Live.apply

    def spy(self: Live, step: Step) -> object:
        seen.append(step)
        return apply(self, step)

    monkeypatch.setattr(Live, "apply", spy)
    return seen


def test_one_more_step_applies_that_step_only(applied: list[Step]) -> None:
    view(SOURCE, (SPLIT, BIND))
    view(SOURCE, (SPLIT, BIND, UNROLL))
    assert applied == [SPLIT, BIND, UNROLL]


def test_undo_redo_and_branches_apply_nothing_again(applied: list[Step]) -> None:
    full = view(SOURCE, (SPLIT, BIND, UNROLL))
    short = view(SOURCE, (SPLIT,))
    assert view(SOURCE, (SPLIT, BIND, UNROLL)) == full
    assert view(SOURCE, (SPLIT,)) == short
    assert applied == [SPLIT, BIND, UNROLL]


def test_undo_gives_the_module_back() -> None:
    before = view(SOURCE, (SPLIT,))
    view(SOURCE, (SPLIT, BIND))
    assert view(SOURCE, (SPLIT,)) == before
    assert view(SOURCE, ()).script == kernels.module(kernels.MATMUL).script()


def test_a_view_has_nest_text_and_lines() -> None:
    shown = view(SOURCE, (SPLIT, BIND))
    (function,) = shown.nest.functions
    loops = [node for node in function.nodes if isinstance(node, Loop)]
    assert [(node.name, node.binding) for node in loops] == [
        ("i_0", "blockIdx.x"), ("i_1", None), ("j", None), ("k", None),
    ]  # fmt: skip
    assert 'T.thread_binding(6, thread="blockIdx.x")' in shown.script
    assert [step.lines[-1] for step in shown.steps] == [
        "i_0, i_1 = sch.split(i, factors=[None, 16])",
        'sch.bind(i_0, "blockIdx.x")',
    ]


def test_a_step_taken_out_of_the_middle_is_told_by_the_step_that_needed_it() -> None:
    shown = view(SOURCE, (BIND, STEPS["unroll"](LoopRef(C, 2, "k"))))
    refusal = shown.steps[0].refusal
    assert refusal is not None
    assert refusal.what == "The loop i_0 of block C is gone: i is there now."
    assert shown.steps[0].lines == ()
    assert shown.steps[1].refusal is None
    assert "T.unroll(64)" in shown.script


def test_refusals_are_kept_with_the_state() -> None:
    done = replay(SOURCE, (BIND, SPLIT))
    assert [refusal.what for refusal in done.refusals] == [
        "The loop i_0 of block C is gone: i is there now."
    ]
    assert replay(SOURCE, (BIND, SPLIT)).state is done.state


def test_one_and_true_are_different_steps() -> None:
    annotate = STEPS["annotate"]
    for value in (1, True, 1.0):
        steps = (annotate(LoopRef(C, 0, "i"), "hint", value),)
        assert script(SOURCE, steps)[-1] == f'sch.annotate(i, "hint", {value!r})'


def test_sources_do_not_share_states() -> None:
    other = Source(kernels.MATMUL.replace("96", "32"))
    assert "T.grid(96" in view(SOURCE, ()).script
    assert "T.grid(32" in view(other, ()).script


def test_the_cache_forgets_the_oldest(applied: list[Step], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "KEPT_STATES", 3)
    view(SOURCE, (SPLIT, BIND, UNROLL))
    assert len(replaying._states) == 3
    assert view(SOURCE, (SPLIT, BIND, UNROLL)).steps[-1].refusal is None
    assert applied == [SPLIT, BIND, UNROLL] * 2


def test_a_scheduled_module_is_the_callers_to_change() -> None:
    mine = scheduled_module(SOURCE, (SPLIT,))
    mine["main"] = mine["main"].with_attr("changed", 1)
    live, nest = scheduled(SOURCE, (SPLIT,))
    assert "changed" not in live.mod["main"].attrs
    assert nest.functions[0].name == "main"


def test_the_script_runs_and_gives_the_module() -> None:
    scope = {"tvm": tvm, "sch": tvm.s_tir.Schedule(kernels.module(kernels.MATMUL))}
    exec("\n".join(script(SOURCE, (SPLIT, BIND, UNROLL))), scope)
    tvm.ir.assert_structural_equal(
        scope["sch"].mod, scheduled_module(SOURCE, (SPLIT, BIND, UNROLL))
    )


def test_a_text_that_is_no_module_is_a_load_error() -> None:
    with pytest.raises(LoadError):
        view(Source("not a module"), ())
