"""Crashes, hangs, wrong results and damaged files cost their candidate only, and are counted."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tvm import ir, tirx

from explorer.engine.race_material import Ready
from explorer.engine.tuning.attempt import Attempts
from explorer.engine.tuning.hands import Work
from explorer.engine.tuning.talk import Answer, Build, Make, Order, Ran, Refer, Referred, Run
from explorer.tuning.events import Candidate, Event, Started
from explorer.tuning.folder import RECORDS, WORKLOADS, Folder
from tests.tuning.jobs import events, new, run, run_apart, summary, trials
from tests.tuning.test_job import database

Fault = Callable[[Attempts, Order], Answer | None]

ZERO = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"),
         C: T.Buffer((32, 32), "float32")):
    for i, j in T.grid(32, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
"""


def faulty(fault: Fault) -> Callable[..., Work]:
    """Hands that do what `fault` says, or what they should where it answers None."""

    def make(job: object, subjects: object) -> Work:
        attempts = Attempts(job, subjects)  # type: ignore[arg-type]

        def do(order: Order) -> Answer:
            return fault(attempts, order) or attempts(order)

        return do

    return make


def crash() -> None:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


def hang() -> None:
    while True:
        signal.pause()


def test_every_fault_costs_its_candidate_and_is_counted(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=16, build_timeout_s=2.0, run_timeout_s=2.0, top=1)
    wrong = _zero()

    def fault(attempts: Attempts, order: Order) -> Answer | None:
        if not isinstance(order, Build | Run) or order.id < 0:
            return None
        match order.id % 8, order:
            case 1, Build():
                crash()
            case 2, Build():
                hang()
            case 3, Build():
                raise RuntimeError("boom")
            case 4, Run():
                crash()
            case 5, Run():
                hang()
            case 6, Run():
                raise RuntimeError("an illegal memory access was encountered")
            case 7, Run():
                attempts.built[order.id] = attempts.compiled(wrong, "")
        return None

    assert run(folder, work=faulty(fault)).how == "done"
    fates = {
        0: "measured", 1: "timed_out", 2: "timed_out", 3: "build_failed", 4: "timed_out",
        5: "timed_out", 6: "run_failed", 7: "wrong",
    }  # fmt: skip
    ended = trials(folder)
    assert len(ended) == 16
    for each in ended:
        assert (each.id, each.fate) == (each.id, fates[each.id % 8])
        assert bool(each.reason) == bool(each.by) == (each.fate != "measured")
    by = {each.id % 8: each.by for each in ended}
    words = {each.id % 8: each.reason for each in ended}
    assert by.get(1, "hand died (SIGSEGV)") == by.get(4, by.get(1)) == "hand died (SIGSEGV)"
    assert by.get(2, "no answer within 2 s") == by.get(5, by.get(2)) == "no answer within 2 s"
    assert "boom" in words.get(3, "boom")
    assert (
        "an illegal memory access was encountered" in words.get(6, words.get(6, "")) or 6 not in by
    )
    assert "elements of C differ" in words.get(7, "elements of C differ")
    expected = Counter(fates[each.id % 8] for each in ended)
    funnel = summary(folder).funnel()
    for fate in ("build_failed", "timed_out", "run_failed", "wrong", "measured"):
        assert funnel[fate] == expected[fate]  # type: ignore[index]
    assert len(database(folder)) == funnel["measured"]


def test_a_crash_while_making_costs_one(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=4, top=1)

    def fault(attempts: Attempts, order: Order) -> Answer | None:
        if isinstance(order, Make) and order.id == 2:
            crash()
        if isinstance(order, Make) and order.id == 3:
            raise RuntimeError("boom")
        return None

    assert run(folder, work=faulty(fault)).how == "done"
    told = summary(folder)
    assert (told.candidates[2].fate, told.candidates[2].by) == ("timed_out", "hand died (SIGSEGV)")
    assert told.candidates[3].fate == "rejected"
    assert "boom" in told.candidates[3].reason
    assert told.trials() == told.funnel()["measured"] == 4


def test_what_a_lost_hand_held_is_tried_again(tmp_path: Path) -> None:
    """One crashes while others are built and wait in the same hand: they are innocent."""
    folder = new(tmp_path, trials=8, top=1)
    mark = tmp_path / "crashed"

    def fault(attempts: Attempts, order: Order) -> Answer | None:
        if isinstance(order, Build) and len(attempts.built) and not mark.exists():
            mark.touch()
            crash()
        return None

    assert run(folder, work=faulty(fault)).how == "done"
    funnel = summary(folder).funnel()
    assert funnel["measured"] + funnel["timed_out"] == 8
    assert funnel["timed_out"] == mark.exists()


def test_damaged_lines_are_put_aside_and_counted(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=3, top=1)
    run(folder)
    kept = len(database(folder))
    _damage(folder)
    folder.create(folder.job().__class__(**{**_fields(folder), "trials": 5}))
    assert run(folder).how == "done"
    started = [event for event in events(folder) if isinstance(event, Started)]
    assert [event.put_aside for event in started] == [0, 5]
    told = summary(folder)
    assert told.funnel()["measured"] == 5
    assert len(database(folder)) == kept + 2
    aside = (folder.path / f"{RECORDS}.unreadable").read_text(encoding="utf-8")
    assert len(aside.splitlines()) == 4


def _damage(folder: Folder) -> None:
    """A line cut short, no JSON, no record, a workload that is none, a trace that can't be."""
    records, workloads = folder.path / RECORDS, folder.path / WORKLOADS
    lines = records.read_bytes().splitlines(keepends=True)
    wrong = json.loads(lines[0])
    wrong[1][0][0].insert(0, ["GetSBlock", [], ["nowhere", "main"], ["b99"]])
    with open(records, "ab") as file:
        file.write(b"garbage\n[1, 2]\n" + json.dumps(wrong).encode() + b"\n" + lines[0][:40])
    with open(workloads, "ab") as file:
        file.write(b'["1", "!"]\n')


def _fields(folder: Folder) -> dict[str, object]:
    job = folder.job()
    return {name: getattr(job, name) for name in job.__struct_fields__}


def _zero() -> ir.IRModule:
    from explorer.engine.load import module
    from explorer.model.loaded import Source

    mod = module(Source(ZERO))
    assert isinstance(mod["main"], tirx.PrimFunc)
    return mod


def test_no_reference_in_time_is_no_reason_to_wait(tmp_path: Path) -> None:
    """Candidates are shown before the reference is there, and proved once it is."""
    folder = new(tmp_path, trials=3, top=1)
    seen = tmp_path / "first"

    def fault(attempts: Attempts, order: Order) -> Answer | None:
        if isinstance(order, Run) and order.id > 0:
            answer = attempts(order)
            assert isinstance(answer, Ran)
            seen.touch()
            return answer
        if isinstance(order, Refer):
            while not seen.exists():
                os.sched_yield()
        return None

    assert run(folder, work=faulty(fault)).how == "done"
    first = next(each for each in events(folder) if isinstance(each, Candidate) and each.trial)
    assert first.unproved
    assert not any(each.unproved for each in trials(folder))
    assert summary(folder).funnel()["measured"] == 3
    assert len(database(folder)) == 3


def test_what_could_not_be_compared_says_so(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=3, top=0)

    def fault(attempts: Attempts, order: Order) -> Answer | None:
        if isinstance(order, Refer):
            return Referred(Ready(made=False, words="the reference took over 60 s"))
        return None

    assert run(folder, work=faulty(fault)).how == "done"
    found = trials(folder)
    assert {each.fate for each in found} == {"measured"}
    assert {each.reason for each in found} == {
        "Its outputs were not compared: the reference took over 60 s."
    }


def test_what_was_not_proved_is_tried_again_after_a_kill(tmp_path: Path) -> None:
    folder = new(tmp_path, trials=3, top=1)

    def no_reference(attempts: Attempts, order: Order) -> Answer | None:
        if isinstance(order, Refer):
            hang()
        return None

    def kill(event: Event) -> None:
        if isinstance(event, Candidate) and event.trial:
            os.kill(os.getpid(), signal.SIGKILL)

    assert run_apart(folder, kill, faulty(no_reference)) == -signal.SIGKILL
    (before,) = trials(folder)
    assert before.unproved
    assert run(folder).how == "done"
    after = trials(folder)
    # Under its own number; two hands may end in either order, and the other one's number is gone.
    assert (before.id, before.trial) in [(each.id, each.trial) for each in after]
    assert len({each.trial for each in after}) == 3
    assert len(after) == len(database(folder)) == 3
    assert not any(each.unproved for each in after)
