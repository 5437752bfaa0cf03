"""Sweep, history and ablation, on this machine's processor."""

from __future__ import annotations

import pytest

from explorer import studies
from explorer.errors import SizeError
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import Method, Verdict

QUICK = Method(budget_s=0.4)


def test_history_shows_what_each_step_changed(matmul: Source, fast: Variant) -> None:
    found = studies.history(matmul, fast.steps, "llvm", {}, method=QUICK)
    assert found.function == "main"
    assert [step.step for step in found.steps] == [0, 1, 2, 3]
    assert found.steps[0].line == ""
    assert found.steps[0].change is None
    assert "reorder" in found.steps[1].line
    assert all(step.median_us for step in found.steps)
    assert found.steps[1].change is not None
    assert (found.steps[1].change.variant, found.steps[1].change.other) == ("1", "0")


def test_ablation_says_what_each_step_is_worth(matmul: Source, fast: Variant) -> None:
    found = studies.ablation(matmul, fast.steps, "llvm", {}, method=QUICK)
    reorder, split, vectorize = found.steps
    assert "reorder" in reorder.line
    # The loop to vectorize is made by the split, which found its loop where the reorder put it.
    assert [step.also for step in found.steps] == [(1, 2), (2,), ()]
    for step in (reorder, split, vectorize):
        assert step.worth is not None
        assert step.verdict is not None
        assert step.reason == ""
    assert found.shortest is not None
    assert set(found.shortest) <= {0, 1, 2}
    assert found.kept is not None


def test_ablation_without_a_device_gives_static_figures(matmul: Source) -> None:
    from explorer import workbench

    steps = workbench.steps_of(workbench.propose(matmul, (), "default_gpu", "sm_89"))
    if workbench.can_time("sm_89", studies.HERE) is None:
        return  # a GPU is here: it is timed
    found = studies.ablation(matmul, steps, "nvidia/geforce-rtx-4090", {})
    assert found.shortest is None
    assert found.static is not None
    assert found.static.registers > 0
    assert found.static.bound_us


def test_a_sweep_scales_a_number_and_says_where_a_tile_stops_dividing(
    matmul: Source, fast: Variant
) -> None:
    found = studies.sweep(matmul, (fast,), "llvm", {}, "64", (32, 36), method=QUICK)
    assert [point.value for point in found.points] == [32, 36]
    assert found.points[0].remainders == {}
    assert found.points[1].remainders == {"fast": ("j (36) is no multiple of 8: 4 are left over",)}
    for point in found.points:
        assert point.race.heats[0].rows[0].status == "measured"
        assert point.race.heats[0].rows[0].check.status == "match"


def test_only_whole_numbers_of_the_text_are_scaled() -> None:
    text = 'def f(A64: T.Buffer((64, 640), "float64")):  # 64\n    x = 64\n'
    assert studies.scaled(Source(text), "64", 128).text == (
        'def f(A64: T.Buffer((128, 640), "float64")):  # 64\n    x = 128\n'
    )
    with pytest.raises(SizeError, match="no size 7"):
        studies.scaled(Source(text), "7", 8)


def test_a_verdict_read_from_the_other_side() -> None:
    verdict = Verdict(
        variant="a", other="b", outcome="faster", ratio=2.0, low=1.6, high=2.5,
        words="2.00× ± 0.50 faster",
    )  # fmt: skip
    back = studies.reverse(verdict)
    assert (back.variant, back.other, back.outcome) == ("b", "a", "slower")
    assert (back.ratio, back.low, back.high) == (0.5, 0.4, 0.625)
    assert back.words == "2.00× ± 0.50 slower"
    assert studies.reverse(back).outcome == "faster"
