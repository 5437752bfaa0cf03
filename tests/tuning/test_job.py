"""A tuning job on llvm from its start to its end, and what plain TVM makes of its database."""

from __future__ import annotations

from pathlib import Path

import tvm
from tvm.s_tir import meta_schedule as ms

from explorer.engine.load import module
from explorer.engine.targets import cuda_tags
from explorer.engine.tuning.space import Space
from explorer.targets import resolve
from explorer.tuning.events import Checked, Entered, Rival, Started
from explorer.tuning.folder import RECORDS, WORKLOADS, Folder
from explorer.tuning.job import Task
from tests.tuning.jobs import TWO, Source, events, new, run, summary, trials


def database(folder: Folder) -> ms.database.Database:
    """The job's database, opened by TVM alone."""
    return ms.database.JSONDatabase(
        str(folder.path / WORKLOADS), str(folder.path / RECORDS), allow_missing=False
    )


def test_a_job_runs_to_its_end_and_plain_tvm_agrees_on_the_best(tmp_path: Path) -> None:
    folder = new(tmp_path, rivals=(("as it is", ()),))
    ended = run(folder)
    assert (ended.how, ended.reason) == ("done", "")
    told = summary(folder)
    assert told.trials() == 6
    assert told.funnel()["measured"] == 6
    assert sorted(each.trial for each in trials(folder)) == [1, 2, 3, 4, 5, 6]
    assert all(each.us and each.runs_us and each.digest for each in trials(folder))
    assert told.rivals["main", "as it is"].us
    # Checked before it is called best.
    best = told.best("main")
    assert best is not None
    checked = [event for event in events(folder) if isinstance(event, Checked)]
    assert {event.check.status for event in checked} == {"match"}
    assert best.id in {event.id for event in checked}
    # What TVM makes of the same files.
    stock = database(folder)
    assert len(stock) == 6
    mod = module(folder.job().source)
    target = resolve("llvm", cuda_tags())
    space = Space(mod, "main", target, folder.job())
    theirs = ms.tir_integration.compile_tir(stock, mod["main"], space.target)
    ours = space.schedule(best.design, best.decisions, best.trace)
    tvm.ir.assert_structural_equal(theirs.mod, ours.mod)


def test_phases_come_in_order_and_a_finished_job_does_nothing_again(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=2, top=1)
    run(folder)
    phases = [event.phase for event in events(folder) if isinstance(event, Entered)]
    assert phases == ["preparing", "searching", "checking"]
    before = summary(folder)
    assert run(folder).how == "done"
    after = summary(folder)
    assert after.trials() == before.trials() == 2
    assert [event.again for event in events(folder) if isinstance(event, Started)] == [False, True]


def test_trials_are_shared_by_weight(tmp_path: Path) -> None:
    tasks = (Task("matmul", 2.0), Task("total", 1.0))
    folder = new(tmp_path, source=Source(TWO), tasks=tasks, trials=6, top=1)
    assert run(folder).how == "done"
    told = summary(folder)
    assert (told.trials("matmul"), told.trials("total")) == (4, 2)
    assert len(database(folder)) == told.funnel()["measured"]
    assert told.best("matmul") is not None
    assert told.best("total") is not None


def test_a_small_space_ends_when_all_was_tried(tmp_path: Path) -> None:
    source = Source(
        '@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((4,), "float32"),'
        ' B: T.Buffer((4,), "float32")):\n    for i in range(4):\n        with T.sblock("B"):\n'
        "            vi = T.axis.spatial(4, i)\n            B[vi] = A[vi] + T.float32(1)\n"
    )
    folder = new(tmp_path, source=source, trials=500, top=1)
    ended = run(folder)
    assert ended.how == "exhausted"
    assert "It is the same program as candidate" in ended.reason
    assert 0 < summary(folder).trials() < 500


def test_a_budget_ends_a_job(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=100_000, budget_min=0.02)
    assert run(folder).how == "budget"


def test_what_cannot_be_tuned_is_said(tmp_path: Path) -> None:
    folder = new(tmp_path, tasks=(Task("nothing"),))
    ended = run(folder)
    assert ended.how == "failed"
    assert "There is no function nothing." in ended.reason
    folder = new(tmp_path / "second", target="nvidia/geforce-rtx-4090")
    ended = run(folder)
    assert (ended.how, "can't run code for" in ended.reason) == ("failed", True)


def test_a_rival_that_cannot_be_built_has_a_reason(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=1, top=0)
    text = folder.job()
    assert text.rivals == ()
    from explorer.engine.read_schedule import read_schedule

    steps = read_schedule(
        text.source, "def apply(sch):\n    sch.bind(sch.get_loops(sch.get_sblock('C'))[0], "
        "'threadIdx.x')\n", (),
    ).steps  # fmt: skip
    folder = new(tmp_path, trials=1, top=0, rivals=(("bound", tuple(steps)),))
    assert run(folder).how == "done"
    (rival,) = [event for event in events(folder) if isinstance(event, Rival)]
    assert rival.us is None
    assert "threadIdx.x" in rival.reason
