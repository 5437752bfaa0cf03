"""A tuning job on disk: `job.json`, `events.jsonl`, `control.json`, `lock`, and TVM's database.

The folder is the job.  One process works on it and holds its lock; everybody else reads the events,
and writes nothing but wishes.  A line that was cut by a crash is left out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from explorer.errors import ExperimentError
from explorer.tuning.events import Event
from explorer.tuning.job import VERSION, Steering, TuneJob

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"
"""As TVM's JSONDatabase and `tune_tir(work_dir=…)` name them."""

TRIES, TRY_S = 20, 0.01

Wish = Literal["run", "pause", "stop"]


_held: set[int] = set()


def _let_go() -> None:
    """In a forked child: a job is worked on by the process that took it only."""
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants of a job now.  `steering` None: as in job.json."""

    wish: Wish = "run"
    steering: Steering | None = None


class Folder:
    """The files of one job."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, job: TuneJob) -> None:
        """Write the job; the folder may exist.  Raises ExperimentError when it can't be written."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write("job.json", msgspec.json.format(msgspec.json.encode(job), indent=2))
        except OSError as failure:
            raise ExperimentError(
                f"{self.path} can't be written.", f"{failure.strerror}.", "Name another folder."
            ) from failure

    def job(self) -> TuneJob:
        """What the job is.  Raises ExperimentError when there is none or it can't be read."""
        try:
            data = (self.path / "job.json").read_bytes()
            version = msgspec.json.decode(data, type=dict).get("version")
            if version != VERSION:
                raise ExperimentError(
                    f"job.json says version {version!r}; this program reads version {VERSION}.",
                    do="Open it with the program that wrote it.",
                )
            return msgspec.json.decode(data, type=TuneJob)
        except OSError as failure:
            raise ExperimentError(
                f"{self.path} holds no tuning job.", f"job.json: {failure.strerror}.",
                "Name the folder of a job, or start one there.",
            ) from failure  # fmt: skip
        except (msgspec.DecodeError, UnicodeDecodeError) as failure:
            raise ExperimentError(
                f"{self.path}/job.json is no tuning job.", str(failure), "Start the job again."
            ) from failure

    # The one process that works on it

    @contextlib.contextmanager
    def working(self) -> Iterator[int]:
        """Hold the job, as its one process; yields the lock's descriptor.

        A forked child gives up its copy of it, else the lock would outlive us in the child.
        Raises ExperimentError when another process works on it.
        """
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _held.add(lock)
        try:
            if not _taken(lock):
                raise ExperimentError(
                    "This job is already running.", "Another process works in its folder.",
                    "Watch it, or stop it first.",
                )  # fmt: skip
            yield lock
        finally:
            _held.discard(lock)
            os.close(lock)

    def tell(self, event: Event) -> None:
        """Append an event, whole or not at all."""
        line = msgspec.json.encode(event) + b"\n"
        with open(self.path / "events.jsonl", "ab", buffering=0) as file:
            if file.tell() and not self._ends_with_newline():
                line = b"\n" + line  # what a crash left stays a line of its own
            file.write(line)

    def sync(self) -> None:
        """Let what was told outlive the machine."""
        with contextlib.suppress(FileNotFoundError), open(self.path / "events.jsonl", "rb") as file:
            os.fsync(file.fileno())

    # Everybody

    def running(self) -> bool:
        """A process works on it now."""
        try:
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def control(self) -> Control:
        """The user's wishes; plain "run" when there are none or they can't be read."""
        try:
            return msgspec.json.decode((self.path / "control.json").read_bytes(), type=Control)
        except (OSError, msgspec.DecodeError):
            return Control()

    def wish(self, control: Control) -> None:
        """Tell the process what is wanted; it looks several times a second."""
        self._write("control.json", msgspec.json.encode(control))

    def _ends_with_newline(self) -> bool:
        with open(self.path / "events.jsonl", "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _write(self, name: str, data: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self.path, delete=False, prefix=".new-") as file:
            file.write(data)
        os.replace(file.name, self.path / name)


def _taken(lock: int) -> bool:
    """Take the lock; whoever asks `running` holds it for an instant, too, so more than once."""
    for _ in range(TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(TRY_S)
        else:
            return True
    return False


class Reader:
    """The events of a job, read on from where the last reading ended."""

    def __init__(self, folder: Folder) -> None:
        self._path = folder.path / "events.jsonl"
        self._offset = 0
        self.unreadable = 0
        """Lines that were no event."""

    def news(self) -> list[Event]:
        """The events since the last call."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole, _, _ = data.rpartition(b"\n")
        if not whole:
            return []
        self._offset += len(whole) + 1
        events: list[Event] = []
        for line in whole.split(b"\n"):
            try:
                events.append(msgspec.json.decode(line, type=Event))
            except msgspec.DecodeError:
                self.unreadable += bool(line.strip())
        return events
