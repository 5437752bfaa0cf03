"""What follows from a job's events, from events made by hand."""

from __future__ import annotations

import msgspec
import pytest

from explorer.model.loaded import Source
from explorer.model.race import Provenance
from explorer.model.result import Check
from explorer.tuning.agreement import agreement, ranks
from explorer.tuning.events import (
    Candidate,
    Checked,
    Design,
    Entered,
    Event,
    Finished,
    Rival,
    Started,
    Steered,
)
from explorer.tuning.job import Task, TuneJob
from explorer.tuning.summary import FUNNEL, Summary, figure

JOB = TuneJob(
    source=Source("text"), target="llvm", tasks=(Task("main"), Task("other")), runner="llvm",
    trials=10,
)  # fmt: skip
PLACE = Provenance(runner="llvm", device="Some CPU", method="median of 3")


def measured(id: int, us: float, trial: int, **more: object) -> Candidate:
    fields = {
        "at": 100.0 + trial, "id": id, "function": "main", "fate": "measured", "us": us,
        "trial": trial,
    }  # fmt: skip
    return Candidate(**{**fields, **more})  # type: ignore[arg-type]


def of(*events: Event, job: TuneJob = JOB) -> Summary:
    summary = Summary(job)
    summary.add(list(events))
    return summary


RUN: tuple[Event, ...] = (
    Started(at=100.0, pid=1, place=PLACE),
    Entered(100.1, "main", "searching"),
    Design(function="main", number=0, trace="[]"),
    Rival(at=100.2, function="main", name="Original", us=90.0),
    measured(1, 50.0, 1),
    Candidate(at=101.5, id=2, function="main", fate="rejected", reason="No.", by="VerifyGPUCode"),
    Candidate(at=101.6, id=3, function="main", fate="rejected", reason="No.", by="RewriteLayout"),
    Candidate(at=101.7, id=4, function="main", fate="rejected", reason="No.", by="VerifyGPUCode"),
    Candidate(at=101.8, id=5, function="main", fate="passed_over", reason="Others were better."),
    measured(6, 70.0, 2),
    Candidate(at=103, id=7, function="main", fate="wrong", reason="Off by 2.", trial=3),
    measured(8, 30.0, 4),
    measured(9, 10.0, 5, function="other"),
)


def test_the_funnel_counts_every_candidate_once_and_keeps_the_order_of_fates() -> None:
    funnel = of(*RUN).funnel("main")
    assert tuple(funnel) == FUNNEL
    assert {fate: n for fate, n in funnel.items() if n} == {
        "rejected": 3, "passed_over": 1, "wrong": 1, "measured": 3,
    }  # fmt: skip
    assert of(*RUN).funnel()["measured"] == 4
    assert of(*RUN).reasons("rejected", "main") == [("VerifyGPUCode", 2), ("RewriteLayout", 1)]


def test_candidates_of_a_fate_come_latest_first_with_their_reason() -> None:
    found = of(*RUN).with_fate("rejected", "main")
    assert [each.id for each in found] == [4, 3, 2]
    assert all(each.reason for each in found)


def test_a_later_event_replaces_the_earlier_one_and_counts_as_news() -> None:
    summary = of(*RUN, measured(5, 20.0, 6))
    assert summary.funnel("main")["passed_over"] == 0
    assert summary.best("main") == measured(5, 20.0, 6)
    assert [p.best_us for p in summary.curve("main")] == [50.0, 50.0, 30.0, 20.0]
    assert summary.with_fate("measured", "main")[0].id == 5


def test_the_curve_falls_and_has_a_point_for_each_figure() -> None:
    points = of(*RUN).curve("main")
    assert [(p.trial, p.since_s, p.best_us) for p in points] == [
        (1, 1.0, 50.0), (2, 2.0, 50.0), (4, 4.0, 30.0),
    ]  # fmt: skip


def test_one_that_its_check_refutes_is_neither_best_nor_on_the_curve() -> None:
    check = Checked(
        at=110, function="main", id=8, rank=1, check=Check(status="mismatch", detail="Off.")
    )
    summary = of(*RUN, check)
    assert [each.id for each in summary.ranked("main")] == [1, 6]
    assert summary.curve("main")[-1].best_us == 50.0
    good = msgspec.structs.replace(check, check=Check(status="match", detail="Agrees."))
    assert of(*RUN, check, good).best("main") == measured(8, 30.0, 4)


def test_a_predicted_figure_counts_where_nothing_is_measured() -> None:
    one = Candidate(
        at=101, id=1, function="main", fate="predicted", predicted_us=4.0, us=None, trial=1
    )
    assert figure(one) == 4.0
    assert figure(msgspec.structs.replace(one, fate="build_failed")) is None
    assert of(one, job=msgspec.structs.replace(JOB, runner="static")).predicted


@pytest.mark.parametrize(
    ("events", "running", "state"),
    [
        ((), False, "new"),
        (RUN, True, "running"),
        (RUN, False, "killed"),
        ((*RUN, Steered(104, "paused")), True, "paused"),
        ((*RUN, Steered(104, "paused"), Steered(105, "resumed")), True, "running"),
        ((*RUN, Steered(104, "steered", "drop AutoBind")), True, "running"),
        ((*RUN, Finished(104, "stopped")), False, "ended"),
        ((*RUN, Finished(104, "stopped"), Started(at=105, pid=2, again=True)), False, "killed"),
        ((*RUN, Steered(104, "paused"), Started(at=105, pid=2, again=True)), True, "running"),
    ],
)
def test_the_state_follows_from_events_and_lock(
    events: tuple[Event, ...], running: bool, state: str
) -> None:
    assert of(*events).state(running) == state


def test_time_left_goes_by_the_pace_since_the_last_start() -> None:
    summary = of(*RUN)
    assert summary.trials() == 5
    assert summary.left_s(110.0) == pytest.approx(10.0)
    summary.add([Finished(110.0, "stopped"), Started(at=200.0, pid=2, again=True)])
    assert summary.left_s(204.0) is None
    summary.add([measured(10, 9.0, 6, at=202.0)])
    assert summary.left_s(202.0) == pytest.approx(8.0)


def test_pauses_are_no_part_of_the_pace() -> None:
    summary = of(*RUN, Steered(105.0, "paused"))
    assert summary.left_s(150.0) is None
    summary.add([Steered(205.0, "resumed")])
    assert summary.left_s(210.0) == pytest.approx(10.0)


def test_the_budget_ends_the_estimate() -> None:
    short = msgspec.structs.replace(JOB, budget_min=0.2)
    assert of(*RUN, job=short).left_s(110.0) == pytest.approx(2.0)
    assert of(*RUN, job=short).left_s(190.0) == 0.0


def test_the_place_of_the_figures_survives_a_start_that_told_none() -> None:
    assert of(*RUN, Started(at=200, pid=2, again=True)).place == PLACE
    assert of().place is None


def test_the_history_has_what_happened_to_the_job_in_order() -> None:
    summary = of(*RUN, Steered(104, "steered", "pin 1"), Finished(105, "done"))
    assert [type(each).__name__ for each in summary.history] == [
        "Started", "Entered", "Steered", "Finished",
    ]  # fmt: skip


def test_the_cost_models_order_is_compared_with_the_figures() -> None:
    told = [measured(n, 100.0 - n, n, score=n / 10) for n in range(1, 7)]
    summary = of(*told, measured(20, 1.0, 8))
    assert len(summary.scored("main")) == 6
    assert summary.agreement("main") == pytest.approx(1.0)
    upside_down = [measured(n, 100.0 + n, n, score=n / 10) for n in range(1, 7)]
    assert of(*upside_down).agreement("main") == pytest.approx(-1.0)
    assert of(*told[:3]).agreement("main") is None


def test_equal_values_share_a_rank() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]) == [3.5, 1.0, 3.5, 2.0]
    assert agreement([1.0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) is None
