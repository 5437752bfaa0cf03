"""Searches as a browser tab follows them: one `Watch` a folder, which reads only what is new.

`st.session_state["tune_open"]` is the folder that is shown, "" for the form that starts one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from explorer import tunes as jobs
from explorer.errors import UserError
from explorer.tuning.folder import Folder, Reader
from explorer.tuning.job import Steering, TuneJob
from explorer.tuning.summary import State, Summary
from explorer.ui import state

ACTIVE: tuple[State, ...] = ("running", "paused")
OPEN = "tune_open"
LIVE, CANDIDATE = "tune_live", "tune_candidate"
"""The parts of the tab that are drawn on their own."""
T = TypeVar("T")


class Watch:
    """A job as far as this tab has read it.  Raises ExperimentError when there is none."""

    def __init__(self, path: Path) -> None:
        self.folder = Folder(path)
        self.job: TuneJob = self.folder.job()
        self.summary = Summary(self.job)
        self.state: State = "new"
        self.stopping = False
        """Its process was told to end and has not yet."""
        self.seen = 0
        """How many events were read."""
        self._reader = Reader(self.folder)
        self._kept: dict[Any, tuple[int, Any]] = {}
        self.look()

    @property
    def path(self) -> str:
        """The folder, as text."""
        return str(self.folder.path)

    @property
    def active(self) -> bool:
        """A process works on it, or is about to."""
        return self.state in ACTIVE

    @property
    def steering(self) -> Steering:
        """What steers it now."""
        wished = self.folder.control().steering
        return self.job.steering if wished is None else wished

    @property
    def functions(self) -> list[str]:
        """The functions it tunes."""
        return [task.function for task in self.job.tasks]

    def look(self) -> None:
        """Read what is new."""
        news = self._reader.news()
        self.summary.add(news)
        self.seen += len(news)
        self.state = self.summary.state(jobs.running(self.folder.path))
        self.stopping = self.active and self.folder.control().wish == "stop"

    def again(self) -> None:
        """Read what it is asked to do, which may have changed while it did not run."""
        self.job = self.summary.job = self.folder.job()

    def kept(self, key: Any, make: Callable[[], T]) -> T:
        """What `make` gives, made anew only when there were events since."""
        seen, value = self._kept.get(key, (-1, None))
        if seen != self.seen:
            value = make()
            self._kept[key] = (self.seen, value)
        return value


def watch(path: str) -> Watch:
    """This tab's watch of a folder, as of now.  Raises ExperimentError when it holds no job."""
    kept: dict[str, Watch] = st.session_state.setdefault("tune_watches", {})
    if path not in kept:
        kept[path] = Watch(Path(path))
    else:
        kept[path].look()
    return kept[path]


def show(path: Path | str) -> None:
    """Look at a job from now on, or with "" at the form."""
    st.session_state[OPEN] = str(path)


def go_to(path: Path | str) -> None:
    """A control's callback: look at another job, or at the form."""
    show(path)
    redraw()


def shown(known: list[jobs.Known]) -> str:
    """The folder that is looked at: in a new tab the newest search that still goes on."""
    if OPEN not in st.session_state:
        show(next((each.path for each in known if each.state in ACTIVE), ""))
    return str(st.session_state[OPEN])


def redraw(*parts: str) -> None:
    """In a callback: draw these parts of the tab, or all of it, and what else is another now.

    Nothing after it runs.
    """
    desk = state.desk()
    owed = [] if desk is None else state.drawn().owed(desk, state.notice())
    if parts and not owed:
        st.rerun(list(parts))
    state.draw([*owed, "below"])


def do(verb: Callable[..., Any], *args: Any) -> None:
    """A control's callback: call a verb of `explorer.tunes`, then draw the tab.

    What the user can repair becomes the page's notice.
    """
    state.dismiss()
    try:
        verb(*args)
    except UserError as error:
        state.tell(error.problem)
    redraw()


def start(job: TuneJob) -> None:
    """A control's callback: write a job's folder, begin, and look at it."""

    def both() -> None:
        path = jobs.new_job(job)
        show(path)
        jobs.begin(path)

    do(both)


def go_on(watch: Watch, trials: int | None = None, steering: Steering | None = None) -> None:
    """A control's callback: resume or begin again; with more trials, or steered otherwise."""

    def both() -> None:
        path = watch.folder.path
        if steering is not None:
            jobs.steer(path, steering)
        if trials is not None:
            jobs.extend(path, trials=trials)
            watch.again()
        jobs.resume(path)

    do(both)


def stop(watch: Watch) -> None:
    """A control's callback: stop it and keep what was found; nobody waits for its process."""
    watch.stopping = True
    threading.Thread(target=jobs.stop, args=(watch.folder.path,), daemon=True).start()
