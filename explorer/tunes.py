"""Tuning jobs of this machine: where they live, and begin, pause, resume, steer, stop, import.

A job is a folder (`explorer.tuning.folder`); whoever asks reads it or writes wishes into it.  This
program's own jobs run below its worker server and end with it; going on later is `begin` again.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import threading
import time
from functools import partial
from pathlib import Path

import msgspec

from explorer import workbench
from explorer.errors import ExperimentError, UserError, WorkerDied
from explorer.model.loaded import Source
from explorer.model.race import HERE
from explorer.tuning.events import Ending, Event, Finished, Started
from explorer.tuning.folder import Folder, Reader, Wish
from explorer.tuning.job import Runner, Steering, Task, TuneJob
from explorer.tuning.records import Imported
from explorer.tuning.summary import State, Summary
from explorer.worker.client import Job, WorkerBug

OBEYS_S = 1.5
"""So long a job may take to stop by itself."""
GONE_S = 0.4
LOOK_S = 0.02

_lock = threading.Lock()
_own: dict[Path, Job[Finished]] = {}
"""The jobs that run below this program."""
_read: dict[Path, tuple[Reader, Summary]] = {}


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A job in the list.  `at` is when it was last worked on (or made), seconds since the epoch."""

    path: str
    job: TuneJob
    state: State
    at: float
    trials: int

    @property
    def title(self) -> str:
        """Its title, or its functions."""
        return self.job.title or ", ".join(task.function for task in self.job.tasks)


# Where they live


def root() -> Path:
    """The folder of jobs: `$XDG_STATE_HOME/tvm-schedule-explorer/tuning`."""
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if base else Path.home() / ".local" / "state"
    return state / "tvm-schedule-explorer" / "tuning"


def new_job(job: TuneJob, path: Path | None = None) -> Path:
    """Write a job into `path`, or a new folder of the list; returns the folder.

    Raises ExperimentError when it can't be written or holds a job already.
    """
    folder = Folder(path or root() / _name(job))
    if (folder.path / "job.json").exists():
        raise ExperimentError(
            f"{folder.path} holds a tuning job already.", "A folder is one job.",
            "Resume it, or name another folder.",
        )  # fmt: skip
    folder.create(job)
    if path is not None:
        _list(path)
    return folder.path


def jobs() -> list[Known]:
    """All jobs of the list, newest first; folders that can't be read are left out."""
    try:
        paths = sorted(root().iterdir())
    except OSError:
        return []
    found = []
    for path in paths:
        with contextlib.suppress(ExperimentError, OSError):
            found.append(known(path.resolve()))
    return sorted(found, key=lambda each: (-each.at, each.path))


def known(path: Path) -> Known:
    """A job as it is now.  Raises ExperimentError when there is none."""
    folder = Folder(path)
    job = folder.job()
    with _lock:
        reader, summary = _read.setdefault(path, (Reader(folder), Summary(job)))
        summary.add(reader.news())
    worked = summary.started[-1].at if summary.started else 0.0
    state = summary.state(running(path))
    made = (path / "job.json").stat().st_mtime
    return Known(
        path=str(path), job=job, state=state, at=max(worked, made), trials=summary.trials()
    )


def import_folder(
    path: Path, source: Source | None = None, target: str = "", into: Path | None = None
) -> tuple[Path, Imported]:
    """A database of plain TVM as a new job, not begun: its records are candidates and seeds.

    Functions are those of `source`, or the database's own.  `path` is left as it is.  Raises
    ExperimentError when there is nothing to take over, TargetError when the target is unknown.
    """
    folder = Folder(into or root() / _name(None, path.stem or path.parent.name))
    if folder.path.exists() and any(folder.path.iterdir()):
        raise ExperimentError(
            f"{folder.path} is not empty.", "An import makes a new folder.", "Name another one."
        )
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise ExperimentError(f"{folder.path} can't be made.", f"{failure.strerror}.") from failure
    taken = workbench.import_records(str(path.absolute()), str(folder.path.absolute()), source)
    goal = target or taken.target or "llvm"
    folder.create(
        TuneJob(
            title=f"Import of {path.name}", source=taken.source, target=goal,
            tasks=tuple(Task(name) for name in taken.functions), runner=usual_runner(goal),
        )
    )  # fmt: skip
    if into is not None:
        _list(into)
    return folder.path, taken


def usual_runner(target: str) -> Runner:
    """Where candidates for a target are timed unless told otherwise.  Raises TargetError."""
    if workbench.resolve(target).kind == "llvm":
        return "llvm"
    return "cuda" if workbench.can_time(target, HERE) is None else "static"


# Running them


def begin(path: Path) -> None:
    """Start or go on; returns at once.  Nothing happens when this program runs it already.

    Raises ExperimentError when there is no job or another process works on it.
    """
    folder = Folder(path)
    folder.job()
    with _lock:
        if path.absolute() in _own:
            _wish(folder, "run")
            return
        if folder.running():
            raise ExperimentError(
                "This job is already running.", "Another process works in its folder.",
                "Watch it, or stop it first.",
            )  # fmt: skip
        _wish(folder, "run")
        job = workbench.tune(str(path.absolute()))
        _own[path.absolute()] = job
    job.add_done_callback(partial(_ended, folder))


def running(path: Path) -> bool:
    """Some process works on it, or is about to."""
    return path.absolute() in _own or Folder(path).running()


def pause(path: Path) -> None:
    """Nothing new is begun until `resume`."""
    _wish(Folder(path), "pause")


def resume(path: Path) -> None:
    """Let a paused job run; begin one that has no process.  Raises what `begin` does."""
    if Folder(path).running():
        _wish(Folder(path), "run")
    else:
        begin(path)


def steer(path: Path, steering: Steering) -> None:
    """Change what it looks for, now or when it goes on."""
    folder = Folder(path)
    folder.wish(msgspec.structs.replace(folder.control(), steering=steering))


def extend(path: Path, *, trials: int | None = None, budget_min: float | None = None) -> None:
    """Another number of trials or minutes, for when it goes on.

    Raises ExperimentError while it runs.
    """
    folder = Folder(path)
    if running(path):
        raise ExperimentError(
            "A running job keeps its budget.", "Its process has read it.", "Stop it first."
        )
    job = folder.job()
    changes: dict[str, object] = {"trials": trials, "budget_min": budget_min}
    wanted = {name: value for name, value in changes.items() if value is not None}
    if wanted:
        folder.create(msgspec.structs.replace(job, **wanted))


def stop(path: Path) -> None:
    """End its process within two seconds, by force if it does not obey; all found is kept."""
    folder = Folder(path)
    _wish(folder, "stop")
    if _gone(path, OBEYS_S):
        return
    job = _own.get(path.absolute())
    if job is not None:
        job.cancel()
    else:
        _kill(folder)
    _gone(path, GONE_S)
    _tell_end(folder, "stopped", "It did not stop by itself and was ended.")


# Within


def _wish(folder: Folder, wish: Wish) -> None:
    folder.wish(msgspec.structs.replace(folder.control(), wish=wish))


def _gone(path: Path, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while running(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def _ended(folder: Folder, job: Job[Finished]) -> None:
    """A process of ours is gone: where it could not say why itself, the events do."""
    try:
        if job.cancelled():
            return  # `stop` says so
        error = job.exception()
        if isinstance(error, WorkerDied):
            why = error.problem.why
            _tell_end(folder, "failed", f"{why} What was found is kept: resume goes on from there.")
        elif isinstance(error, UserError):
            _tell_end(folder, "failed", str(error))
        elif isinstance(error, WorkerBug):
            last = str(error).strip().splitlines()[-1]
            _tell_end(folder, "failed", f"This is a bug of the program, please report it: {last}")
    finally:
        _own.pop(folder.path.absolute(), None)


def _tell_end(folder: Folder, how: Ending, reason: str) -> None:
    """Note the end of work that did not note it itself."""
    with contextlib.suppress(ExperimentError, OSError), folder.working():
        ends = [each for each in _events(folder) if isinstance(each, (Started, Finished))]
        if not ends or isinstance(ends[-1], Started):
            folder.tell(Finished(at=time.time(), how=how, reason=reason))


def _kill(folder: Folder) -> None:
    """End another program's process of this job, if it is sure that it is that one."""
    pids = [each.pid for each in _events(folder) if isinstance(each, Started)]
    if pids and _holds(pids[-1], folder.path / "lock"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pids[-1], signal.SIGKILL)  # a worker leads the group of its processes


def _holds(pid: int, lock: Path) -> bool:
    try:
        links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return str(lock.resolve()) in links


def _events(folder: Folder) -> list[Event]:
    return Reader(folder).news()


def _name(job: TuneJob | None, title: str = "") -> str:
    """A new folder's name: time, title, and something that makes it unique."""
    if job is not None:
        title = job.title or "-".join(task.function for task in job.tasks)
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "job"
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{plain}-{secrets.token_hex(3)}"


def _list(path: Path) -> None:
    """Let the list show a job that lives elsewhere."""
    with contextlib.suppress(OSError):  # then it is only found by its own name
        root().mkdir(parents=True, exist_ok=True)
        if any(each.resolve() == path.resolve() for each in root().iterdir()):
            return
        name = _name(None, path.name)
        (root() / name).symlink_to(path.absolute(), target_is_directory=True)
