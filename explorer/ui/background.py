"""Answers that may take a while: asked once, kept by content, waited for only briefly.

The page asks for what it needs on every run; a question that was asked before costs a look-up.
Failures are kept too; what a dead worker left unanswered is asked again at the user's next move.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import msgspec

from explorer.errors import Problem, UserError, WorkerDied
from explorer.worker.client import WorkerBug, in_background

T = TypeVar("T")
KEPT = 512
ASIDE = 3
"""Questions nobody waits for that are worked on at a time."""
SETTLE_S = 0.5
"""They begin this long after the last question somebody waits for: a click comes first."""


class Answer(Generic[T]):
    """What became of a question: `value`, or `problem`, or neither while it is being worked on."""

    def __init__(self, value: T | None = None, problem: Problem | None = None) -> None:
        self.value = value
        self.problem = problem

    @property
    def pending(self) -> bool:
        """Neither answered nor failed yet."""
        return self.value is None and self.problem is None


class Crew:
    """Threads that wait for workers.

    Unlike those of ThreadPoolExecutor they don't keep a server that was told to stop.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]]
        self._calls = SimpleQueue()
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True, name=name).start()

    def submit(self, verb: Callable[..., T], *args: Any) -> Future[T]:
        """Call `verb(*args)` as soon as a thread is free."""
        future: Future[T] = Future()
        self._calls.put((future, verb, args))
        return future

    def _work(self) -> None:
        while True:
            future, verb, args = self._calls.get()
            try:
                value = verb(*args)
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result meets it
                future.set_exception(error)
            else:
                future.set_result(value)


class Background:
    """Questions by key.  Threads only wait for workers; the work is in other processes."""

    def __init__(self, threads: int = 8) -> None:
        self._pool = Crew(threads, "ask")
        self._aside = Crew(ASIDE, "aside")
        self._futures: OrderedDict[bytes, Future[Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._count_lock = threading.Lock()
        self._last_wait = time.monotonic() - SETTLE_S
        self.finished = 0
        """How many questions were answered so far; a page that waits watches this."""

    def ask(self, verb: Callable[..., T], *args: Any, wait_s: float = 0.0) -> Answer[T]:
        """The answer to `verb(*args)`, waiting at most `wait_s` seconds for it.

        What is not waited for goes to background workers, a few at a time.

        Arguments are plain data; their JSON is the key.  A bug in a worker is a problem with its
        traceback as details; a bug on this side is raised.
        """
        key = verb.__name__.encode() + msgspec.json.encode(args)
        with self._lock:
            future = self._futures.get(key)
            if future is None:
                if wait_s:
                    self._last_wait = time.monotonic()
                    future = self._pool.submit(verb, *args)
                else:
                    future = self._aside.submit(self._when_settled, verb, *args)
                self._futures[key] = future
                future.add_done_callback(self._count)
                self._forget_old()
            self._futures.move_to_end(key)
        try:
            wait([future], timeout=wait_s)
            return Answer(value=future.result()) if future.done() else Answer()
        except UserError as error:
            return Answer(problem=error.problem)
        except WorkerBug as error:
            return Answer(problem=bug(error))

    def forgive(self) -> None:
        """Forget answers that a dead worker or a bug left, so that they are asked again."""
        self._drop(lambda future: isinstance(future.exception(), (WorkerDied, WorkerBug)))

    def forget(self) -> None:
        """Forget every answer there is: something on the machine has changed."""
        self._drop(lambda future: True)

    def _drop(self, unwanted: Callable[[Future[Any]], bool]) -> None:
        """Forget those of the answers; what is being worked on goes on."""
        with self._lock:
            for key, future in list(self._futures.items()):
                if future.done() and unwanted(future):
                    del self._futures[key]

    def _when_settled(self, verb: Callable[..., T], *args: Any) -> T:
        while (left := self._last_wait + SETTLE_S - time.monotonic()) > 0:
            time.sleep(left)
        with in_background():
            return verb(*args)

    def _count(self, _: Future[Any]) -> None:
        with self._count_lock:
            self.finished += 1

    def _forget_old(self) -> None:
        """Drop finished answers that were not asked for longest."""
        for key in [k for k, f in self._futures.items() if f.done()]:
            if len(self._futures) <= KEPT:
                return
            del self._futures[key]


def bug(error: WorkerBug) -> Problem:
    """A fault of this program in a worker, told as what it is."""
    last = str(error).strip().splitlines()[-1] if str(error).strip() else ""
    return Problem(
        kind="WorkerBug", what="This is a fault of the explorer, not of your text.", why=last,
        do="Please report it with the details.", details=str(error),
    )  # fmt: skip
