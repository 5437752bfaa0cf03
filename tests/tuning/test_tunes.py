"""Jobs of this machine: the list, wishes, and an end within two seconds, obeyed or not."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from explorer import tuned, tunes, workbench
from explorer.errors import ExperimentError, WorkerDied
from explorer.model.loaded import Source
from explorer.model.view import Proposal
from explorer.tuning.events import Candidate, Event, Finished, Started, Steered
from explorer.tuning.folder import Control, Folder, Reader
from explorer.tuning.job import Steering, Task, TuneJob
from explorer.tuning.records import Imported, Records, TuningRecord, Workload
from explorer.worker.client import Job, WorkerBug

JOB = TuneJob(
    title="A job", source=Source("text"), target="llvm", tasks=(Task("main"),), runner="llvm"
)
WORK = """
import os, sys, time
from pathlib import Path
from explorer.tuning.events import Finished, Started
from explorer.tuning.folder import Folder
folder, obeys = Folder(Path(sys.argv[1])), sys.argv[2] == "obeys"
os.setpgid(0, 0)
with folder.working():
    folder.tell(Started(at=time.time(), pid=os.getpid()))
    print("working", flush=True)
    while not (obeys and folder.control().wish == "stop"):
        time.sleep(0.01)
    folder.tell(Finished(at=time.time(), how="stopped"))
"""


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


Elsewhere = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """Another program's process that works on a job."""
    started: list[subprocess.Popen[str]] = []

    def work(path: Path, how: str = "obeys") -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WORK, str(path), how]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        out = started[-1].stdout
        assert out is not None
        assert out.readline() == "working\n"
        return started[-1]

    yield work
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Hand(Job[Finished]):
    """A job of this program's workers, worked on by a thread."""

    def __init__(self, path: str, work: Callable[[Folder], Any], obeys: bool = True) -> None:
        super().__init__(Finished)
        self.folder, self.work, self.obeys = Folder(Path(path)), work, obeys
        self.set_running_or_notify_cancel()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            result = self.work(self.folder)
            while self.obeys is False and not self._stopped:
                time.sleep(0.005)
        except (WorkerDied, WorkerBug) as error:
            self.set_exception(error)
            return
        if self._stopped:
            self.set_exception(CancelledError())
        else:
            self.set_result(result)


def events(path: Path) -> list[Event]:
    return Reader(Folder(path)).news()


def gone(path: Path) -> None:
    deadline = time.monotonic() + 20
    while tunes.running(path):
        assert time.monotonic() < deadline
        time.sleep(0.005)


# The list


def test_a_new_job_has_a_folder_of_its_own_in_the_list(tmp_path: Path) -> None:
    assert tunes.jobs() == []
    one, two = tunes.new_job(JOB), tunes.new_job(JOB)
    assert one != two
    assert one.parent == tmp_path / "state" / "tvm-schedule-explorer" / "tuning"
    assert "-a-job-" in one.name
    found = tunes.jobs()
    assert {each.path for each in found} == {str(one), str(two)}
    assert [(each.title, each.state, each.trials) for each in found] == [("A job", "new", 0)] * 2


def test_a_job_elsewhere_is_in_the_list_once(tmp_path: Path) -> None:
    path = tunes.new_job(JOB, tmp_path / "mine")
    assert [each.path for each in tunes.jobs()] == [str(path)]
    with pytest.raises(ExperimentError, match="holds a tuning job already"):
        tunes.new_job(JOB, path)
    (path / "job.json").unlink()
    assert tunes.jobs() == []
    tunes.new_job(JOB, path)
    assert [each.path for each in tunes.jobs()] == [str(path)]


def test_the_list_is_newest_first_and_says_the_state() -> None:
    old, new, broken = (tunes.new_job(JOB) for _ in range(3))
    (broken / "job.json").write_text("{}")
    Folder(new).tell(Started(at=time.time() + 60, pid=1))
    Folder(old).tell(Started(at=time.time(), pid=1))
    Folder(old).tell(Candidate(at=1.0, id=1, function="main", fate="measured", trial=1, us=2.0))
    Folder(old).tell(Finished(at=time.time(), how="done"))
    found = tunes.jobs()
    assert [(each.path, each.state, each.trials) for each in found] == [
        (str(new), "killed", 0), (str(old), "ended", 1),
    ]  # fmt: skip
    Folder(old).tell(Started(at=time.time() + 120, pid=1, again=True))
    assert [(each.path, each.state) for each in tunes.jobs()] == [
        (str(old), "killed"), (str(new), "killed"),
    ]  # fmt: skip


# Running


def test_a_job_begins_once_and_its_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    path, go, begun = tunes.new_job(JOB), threading.Event(), []

    def work(folder: Folder) -> Finished:
        go.wait(20)
        return Finished(1.0, "done")

    def begin(where: str) -> Hand:
        begun.append((where, Folder(Path(where)).control().wish))
        return Hand(where, work)

    monkeypatch.setattr(workbench, "tune", begin)
    tunes.begin(path)
    assert tunes.running(path)
    tunes.pause(path)
    tunes.begin(path)
    assert begun == [(str(path), "run")]
    assert Folder(path).control().wish == "run"
    go.set()
    gone(path)
    assert events(path) == []  # its process tells its own end


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            WorkerDied("TVM did not finish this request.", "Its process crashed (SIGKILL)."),
            "Its process crashed (SIGKILL). What was found is kept: resume goes on from there.",
        ),
        (WorkerBug("Traceback\n  File\nKeyError: 3"), "report it: KeyError: 3"),
    ],
)
def test_a_process_that_dies_has_its_end_told(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tunes.new_job(JOB)

    def work(folder: Folder) -> Finished:
        folder.tell(Started(at=1.0, pid=1))
        raise error

    monkeypatch.setattr(workbench, "tune", lambda where: Hand(where, work))
    tunes.begin(path)
    gone(path)
    end = events(path)[-1]
    assert isinstance(end, Finished)
    assert end.how == "failed"
    assert words in end.reason
    assert tunes.known(path).state == "ended"


def test_one_that_does_not_obey_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    path = tunes.new_job(JOB)

    def work(folder: Folder) -> Finished:
        folder.tell(Started(at=1.0, pid=1))
        return Finished(1.0, "done")

    monkeypatch.setattr(workbench, "tune", lambda where: Hand(where, work, obeys=False))
    tunes.begin(path)
    tunes.stop(path)
    assert not tunes.running(path)
    end = events(path)[-1]
    assert isinstance(end, Finished)
    assert (end.how, end.reason) == ("stopped", "It did not stop by itself and was ended.")


def test_another_program_s_job_is_seen_and_stopped(elsewhere: Elsewhere) -> None:
    path = tunes.new_job(JOB)
    process = elsewhere(path)
    assert tunes.running(path)
    assert tunes.known(path).state == "running"
    with pytest.raises(ExperimentError, match="already running"):
        tunes.begin(path)
    with pytest.raises(ExperimentError, match="keeps its budget"):
        tunes.extend(path, trials=9)
    tunes.pause(path)
    assert Folder(path).control().wish == "pause"
    tunes.resume(path)
    assert Folder(path).control().wish == "run"
    tunes.stop(path)
    assert process.wait(10) == 0
    assert tunes.known(path).state == "ended"
    assert len([each for each in events(path) if isinstance(each, Finished)]) == 1


def test_another_program_s_job_is_ended_when_it_does_not_obey(elsewhere: Elsewhere) -> None:
    path = tunes.new_job(JOB)
    process = elsewhere(path, "deaf")
    tunes.stop(path)
    assert process.wait(10) == -9
    assert not tunes.running(path)
    end = events(path)[-1]
    assert isinstance(end, Finished)
    assert end.how == "stopped"


def test_a_process_that_does_not_hold_the_job_is_left_alone(elsewhere: Elsewhere) -> None:
    path, other = tunes.new_job(JOB), tunes.new_job(JOB)
    innocent = elsewhere(other, "deaf")
    holder = elsewhere(path, "deaf")
    Folder(path).tell(Started(at=time.time(), pid=innocent.pid, again=True))
    tunes.stop(path)
    assert innocent.poll() is None
    assert holder.poll() is None


def test_steering_and_budget_are_for_when_it_goes_on() -> None:
    path = tunes.new_job(JOB)
    steering = Steering(without_rules=("AutoInline",))
    tunes.pause(path)
    tunes.steer(path, steering)
    assert Folder(path).control() == Control(wish="pause", steering=steering)
    tunes.extend(path, trials=99, budget_min=2.5)
    job = Folder(path).job()
    assert (job.trials, job.budget_min, job.title) == (99, 2.5, "A job")
    tunes.extend(path)
    assert Folder(path).job() == job


def test_a_paused_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    path, begun = tunes.new_job(JOB), []
    Folder(path).tell(Started(at=1.0, pid=1))
    Folder(path).tell(Steered(1.0, "paused"))

    def begin(where: str) -> Hand:
        begun.append(where)
        return Hand(where, lambda folder: Finished(1.0, "done"))

    monkeypatch.setattr(workbench, "tune", begin)
    tunes.resume(path)
    gone(path)
    assert begun == [str(path)]


# Import


def test_an_import_is_a_job_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def take(path: str, into: str, source: Source | None) -> Imported:
        asked.append((path, into))
        Folder(Path(into)).tell(Candidate(at=1.0, id=1, function="f", fate="measured", us=1.0))
        return Imported(source=Source("theirs"), functions=("f", "g"), candidates=1, target="llvm")

    monkeypatch.setattr(workbench, "import_records", take)
    monkeypatch.setattr(tunes, "usual_runner", lambda target: target)
    path, taken = tunes.import_folder(tmp_path / "work")
    assert asked == [(str(tmp_path / "work"), str(path))]
    assert taken.candidates == 1
    (found,) = tunes.jobs()
    assert (found.path, found.state, found.title) == (str(path), "new", "Import of work")
    job = found.job
    assert (job.source, job.target, job.runner) == (Source("theirs"), "llvm", "llvm")
    assert [task.function for task in job.tasks] == ["f", "g"]
    with pytest.raises(ExperimentError, match="not empty"):
        tunes.import_folder(tmp_path / "work", into=path)


# What was found, as a variant


PROPOSAL = Proposal(steps=[{"op": "compute_inline", "block": {
    "ref": "block", "name": "B", "nth": 0, "func": "main"}}])  # fmt: skip


def test_the_best_of_a_job_is_a_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    path = tunes.new_job(JOB)
    with pytest.raises(ExperimentError, match="no candidate with a time"):
        tuned.tuned(str(path), JOB.source)
    for id, us in ((1, 5.0), (2, 3.0), (3, 4.0)):
        event = Candidate(at=1.0, id=id, function="main", fate="measured", us=us)
        Folder(path).tell(event)
    asked: list[int] = []
    monkeypatch.setattr(workbench, "candidate", lambda _, id: asked.append(id) or PROPOSAL)
    assert tuned.tuned(str(path), JOB.source)[0] == f"{path.name}#2"
    name, steps = tuned.tuned(f"{path}#3", JOB.source)
    assert (name, asked) == (f"{path.name}#3", [2, 3])
    assert [step.op() for step in steps] == ["compute_inline"]


def test_the_fastest_record_for_the_module_is_a_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Records(
        workloads=(Workload(number=0), Workload(number=1)),
        records=(
            TuningRecord(number=1, workload=0, us=1.0),
            TuningRecord(number=2, workload=1, us=9.0), TuningRecord(number=3, workload=1, us=8.0),
        ),
    )  # fmt: skip

    def read(source: Source, steps: tuple, path: str, number: int, function: str) -> Proposal:
        if number == 1:
            raise ExperimentError("Record 1 is for another function.")
        return PROPOSAL

    monkeypatch.setattr(workbench, "records", lambda path: found)
    monkeypatch.setattr(workbench, "read_record", read)
    assert tuned.tuned(str(tmp_path / "d"), JOB.source)[0] == "d#3"
    assert tuned.tuned(str(tmp_path / "d") + "#2", JOB.source)[0] == "d#2"
    with pytest.raises(ExperimentError, match="another function"):
        tuned.tuned(str(tmp_path / "d") + "#1", JOB.source)
