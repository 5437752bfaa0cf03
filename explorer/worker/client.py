"""The workers as the rest of the program sees them.  Imports no TVM.

`start()` when the program begins, then `ask(verb, type of the answer, …)` from any thread.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from explorer.worker.limits import Settings
from explorer.worker.pool import Job, Pool, Status, WorkerBug

T = TypeVar("T")

ANSWERS = "explorer.worker.child:ANSWERS"
WARM_UP = "explorer.engine.warm:warm"
ASIDE = "explorer.emulator.compiler:find_compiler"
"""The emulator and its headers are compiled while nobody waits; a check that comes earlier does."""

WARM_VERBS = ("propose", "candidate", "read_record", "import_records")

_pool = Pool(Settings(answers=ANSWERS, warm_up=WARM_UP, warm_verbs=WARM_VERBS, aside=ASIDE))
_aside: ContextVar[bool] = ContextVar("_aside", default=False)
_note: ContextVar[Callable[[Job[Any]], None] | None] = ContextVar("_note", default=None)
atexit.register(lambda: _pool.close())


def start(*, warm: bool = True) -> None:
    """Begin to start the workers, in the background.

    Without `warm` TVM's intrinsics are imported by the first request that needs them, which is
    right for a program that asks once.  Only the first call in a program chooses.
    """
    global _pool
    if not warm and _pool.status().state == "cold":
        _pool = Pool(Settings(answers=ANSWERS))
    _pool.start()


def wait_until_ready() -> bool:
    """Wait until everything is imported; False when that takes too long."""
    return _pool.wait_until_ready()


def ask(verb: str, answer: type[T], *args: Any, timeout_s: float = 10.0) -> T:
    """Ask a worker and wait; see `Pool.ask` for what it raises."""
    if _aside.get():
        return _pool.submit(verb, answer, *args, timeout_s=timeout_s).result()
    return _pool.ask(verb, answer, *args, timeout_s=timeout_s)


@contextmanager
def in_background() -> Iterator[None]:
    """What is asked within goes to background workers, which yield the cores to the others."""
    token = _aside.set(True)
    try:
        yield
    finally:
        _aside.reset(token)


@contextmanager
def noting(note: Callable[[Job[Any]], None]) -> Iterator[None]:
    """`note` is told every job that `watch` begins within, so that it can be cancelled."""
    token = _note.set(note)
    try:
        yield
    finally:
        _note.reset(token)


def submit(verb: str, answer: type[T], *args: Any, timeout_s: float = 60.0) -> Job[T]:
    """Ask in the background; `Job.cancel` stops it."""
    return _pool.submit(verb, answer, *args, timeout_s=timeout_s)


def watch(
    verb: str,
    answer: type[T],
    *args: Any,
    timeout_s: float = 60.0,
    on_news: Callable[[T], None] | None = None,
) -> Job[T]:
    """Ask what takes long; `Job.latest` is what it has found so far, `Job.cancel` stops it."""
    job = _pool.watch(verb, answer, *args, timeout_s=timeout_s, on_news=on_news)
    note = _note.get()
    if note is not None:
        note(job)
    return job


def keep_at(verb: str, answer: type[T], *args: Any) -> Job[T]:
    """Ask what may take hours, in a process that yields to all others; `Job.cancel` ends it."""
    return _pool.keep_at(verb, answer, *args)


def status() -> Status:
    """How far the workers are, at no cost."""
    return _pool.status()


def close() -> None:
    """End all workers; the next request starts them again."""
    _pool.close()


__all__ = [
    "Job",
    "Status",
    "WorkerBug",
    "ask",
    "close",
    "in_background",
    "keep_at",
    "noting",
    "start",
    "status",
    "submit",
    "wait_until_ready",
    "watch",
]
