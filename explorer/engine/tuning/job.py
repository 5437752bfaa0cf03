"""A tuning job at work: one process, which holds the job's folder and forks its hands.

It runs no compiler and no kernel itself, so that whatever a candidate does costs a hand.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from explorer.engine.tuning.attempt import Attempts
from explorer.engine.tuning.brain import Brain
from explorer.engine.tuning.crew import Crew
from explorer.engine.tuning.desk import Desk
from explorer.engine.tuning.finish import Finish
from explorer.engine.tuning.hands import Work
from explorer.engine.tuning.ledger import Ledger
from explorer.engine.tuning.search import Search, Trial
from explorer.engine.tuning.store import Store
from explorer.engine.tuning.subject import Job, Subject
from explorer.errors import UserError
from explorer.model.race import Provenance
from explorer.runners import local_cuda
from explorer.tuning.events import (
    Candidate,
    Checked,
    Design,
    Ending,
    Entered,
    Event,
    Finished,
    Phase,
    Started,
    Steered,
)
from explorer.tuning.folder import Folder, Reader
from explorer.tuning.job import Steering, Task

LOOK_S = 0.05
"""Wishes are looked at so often."""
MOST_HANDS = 16
"""One for each core, as far as memory allows."""
SYNC_S = 1.0
"""What is kept outlives the machine after so long at most."""

MakeWork = Callable[[Job, Mapping[str, Subject]], Work]
"""What a hand does with orders; called in each hand."""


class _Stopped(Exception):
    """The user wants it to stop."""


def tune(path: str) -> Finished:
    """Work on the job in that folder until it ends; earlier work on it goes on.

    What happens is told in its events, and how it ended is the answer.  Raises ExperimentError when
    there is no job or another process works on it.
    """
    folder = Folder(Path(path))
    with folder.working():
        return Coordinator(folder, Attempts).run()


class Coordinator:
    """One run of a job."""

    def __init__(self, folder: Folder, work: MakeWork) -> None:
        """Raises ExperimentError when the folder holds no job."""
        self.folder, self.work = folder, work
        self.told = Reader(folder).news()
        """Earlier events."""
        self.starts = sum(1 for event in self.told if isinstance(event, Started))
        job = folder.job()
        # Else a resumed search would sample again what it sampled before.
        self.value = msgspec.structs.replace(job, seed=job.seed + 7919 * self.starts)
        self.paused = False
        self.steering = self.value.steering
        self.refused: Steering | None = None
        """Steering that was not possible."""
        self.crew: Crew | None = None
        self._synced = time.monotonic()

    def run(self) -> Finished:
        """All of it.  Every way to end is told."""
        store: Store | None = None
        try:
            self.store = store = Store(self.folder.path)
            job = Job(self.value)
        except UserError as error:
            self._started(None, store)
            return self._finished("failed", str(error))
        self.job = job
        self._started(self._place(), store)
        with tempfile.TemporaryDirectory() as files:
            try:
                how, reason = self._way(Path(files))
            except _Stopped:
                how, reason = "stopped", ""
            except UserError as error:
                how, reason = "failed", str(error)
            except OSError as error:  # no memory, no process, no room on the disk
                how, reason = "failed", f"The system refused something: {error.strerror or error}."
            finally:
                if self.crew is not None:
                    self.desk.close()
                self._sync()
            if self.crew is not None:
                self.ledger.leave()
        return self._finished(how, reason)

    # The way

    def _way(self, files: Path) -> tuple[Ending, str]:
        self.steering = self.folder.control().steering or self.value.steering
        searches = self._prepare()
        self.ledger = Ledger(self.job, searches, self.store, self._tell)
        self.subjects = {search.function: search.subject for search in searches}
        self.crew = Crew(lambda: self.work(self.job, self.subjects), _hands())
        self.desk = Desk(self.job, self.ledger, self.crew, files)
        for search in searches:
            self._enter(search.function, "searching")
        how, reason = self._search()
        if how == "failed":
            return how, reason
        earlier = [event for event in self.told if isinstance(event, Checked)]
        finish = Finish(self.desk, self.ledger, earlier, self._wait)
        for search in searches:
            self._enter(search.function, "checking")
            finish.check(search)
        return how, reason

    def _prepare(self) -> list[Search]:
        """A search for each function that has something to search."""
        searches: list[Search] = []
        refused: list[UserError] = []
        for task in self.value.tasks:
            self._enter(task.function, "preparing")
            try:
                searches.append(self._prepared(task))
            except UserError as error:
                refused.append(error)
        if not searches:
            raise refused[0]
        self._left_out = " ".join(str(error) for error in refused)
        return searches

    def _prepared(self, task: Task) -> Search:
        subject = self.job.subject(task.function, self._designs(), self.steering)
        search = Search(subject, self._brain(task, subject), task.weight)
        latest: dict[int, Candidate] = {}
        for event in self.told:
            if isinstance(event, Candidate) and event.function == task.function:
                latest[event.id] = event
        search.recall(list(latest.values()))
        search.rivals.extend(
            Trial(-1 - at, task.function, rival=name)
            for at, (name, _) in enumerate(self.value.rivals)
        )
        if self.job.measures:
            search.workload = self.store.number(subject.space.workload)
        return search

    def _brain(self, task: Task, subject: Subject) -> Brain:
        """A new one; it and everybody are told of designs that are new."""
        known = {(each.function, each.number) for each in self._designs()}
        for design in subject.space.designs:
            if (design.function, design.number) not in known:
                self._tell(design)
        job = msgspec.structs.replace(self.value, steering=self.steering)
        return Brain(job, task, subject.space.designs)

    def _search(self) -> tuple[Ending, str]:
        """Until nothing is left to try, or time is up."""
        budget_min = self.value.budget_min
        self.deadline = float("inf")
        if budget_min is not None:
            self.deadline = time.monotonic() + 60 * budget_min

        def over() -> bool:
            late = time.monotonic() > self.deadline
            return late or self.ledger.nothing_left() or bool(self.desk.lost())

        self._until(over, self.desk.work)
        if self.desk.lost():
            return "failed", f"The device can't be used: {self.desk.lost()}"
        if self.ledger.left and self.ledger.nothing_left():
            ended = dict.fromkeys(search.ended for search in self.ledger.searches)
            return "exhausted", " ".join([*ended, self._left_out]).strip()
        if self.ledger.left or self.ledger.flying:
            return "budget", self._left_out
        return "done", self._left_out

    def _wait(self, done: Callable[[], bool]) -> None:
        self._until(done, self.desk.hear)

    def _until(self, done: Callable[[], bool], step: Callable[[float], None]) -> None:
        """Take steps until done, and do what the user wishes.  Raises _Stopped."""
        while not done():
            self._obey()
            before = time.monotonic()
            if self.paused:
                self.desk.rest(LOOK_S)
                self.deadline += time.monotonic() - before
            else:
                step(LOOK_S)
            if time.monotonic() - self._synced > SYNC_S:
                self._sync()

    # What the user wishes

    def _obey(self) -> None:
        control = self.folder.control()
        if control.wish == "stop":
            raise _Stopped
        if self.paused != (control.wish == "pause"):
            self.paused = not self.paused
            if not self.paused:
                self.desk.crew.go_on()
            self._tell(Steered(time.time(), "paused" if self.paused else "resumed"))
        steering = control.steering or self.value.steering
        if steering not in (self.steering, self.refused):
            self._steer(steering)

    def _steer(self, steering: Steering) -> None:
        """Search on with other pins, bans, rules or seeds."""
        designs = self._designs()
        try:
            subjects = {
                name: self.job.steered(subject, designs, steering)
                for name, subject in self.subjects.items()
            }
        except UserError as error:
            self.refused = steering
            self._tell(Steered(time.time(), "steered", f"Not possible. {error}"))
            return
        self.steering, self.refused = steering, None
        self.desk.restart()
        self.subjects.update(subjects)
        tasks = {task.function: task for task in self.value.tasks}
        for search in self.ledger.searches:
            subject = subjects[search.function]
            for event in search.start_again(subject, self._brain(tasks[search.function], subject)):
                self._tell(event)
        self._tell(Steered(time.time(), "steered", steered_words(steering)))

    # Telling

    def _tell(self, event: Event) -> None:
        self.folder.tell(event)
        if isinstance(event, Design):
            self.told.append(event)

    def _enter(self, function: str, phase: Phase) -> None:
        self._tell(Entered(time.time(), function, phase))

    def _designs(self) -> tuple[Design, ...]:
        return tuple(event for event in self.told if isinstance(event, Design))

    def _started(self, place: Provenance | None, store: Store | None) -> None:
        self._tell(
            Started(
                at=time.time(), pid=os.getpid(), again=self.starts > 0, place=place,
                put_aside=0 if store is None else store.put_aside,
            )
        )  # fmt: skip

    def _finished(self, how: Ending, reason: str) -> Finished:
        ended = Finished(time.time(), how, reason)
        self._tell(ended)
        return ended

    def _sync(self) -> None:
        self._synced = time.monotonic()
        self.store.sync()
        self.folder.sync()

    def _place(self) -> Provenance:
        job = self.job
        device = ", ".join(place.name for place in job.places)
        cuda = self.value.runner == "cuda"
        return Provenance(
            runner=self.value.runner, device=device, tvm=version("apache-tvm"),
            driver=local_cuda.driver(job.places[0].number) if cuda else "",
            target=job.target.tag, sizes=self.value.sizes, method=METHOD if job.measures else "",
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip


METHOD = (
    "warm-up, then up to 5 runs of 10 ms or more with fresh inputs, outputs compared each time; "
    "median of the runs; the best are raced against each other in the end"
)


def steered_words(steering: Steering) -> str:
    """What steering asks for, in a few words."""
    words = [
        f"{len(each)} {name}{'s' * (len(each) != 1)}"
        for each, name in (
            (steering.pins, "pin"), (steering.bans, "ban"), (steering.seeds, "seed"),
        )
        if each
    ]  # fmt: skip
    words += [f"without {name}" for name in steering.without_rules]
    words += [f"with {name}" for name in steering.with_rules]
    return ", ".join(words) or "nothing is steered"


def _hands() -> int:
    return min(len(os.sched_getaffinity(0)), MOST_HANDS)


__all__ = ["Coordinator", "tune"]
