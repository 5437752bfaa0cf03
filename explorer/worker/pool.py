"""A pool of children: who answers next, who is let go, and what becomes of a request that fails.

Every session thread asks for itself and gets a child of its own, so nobody waits for another's
long work.  Background work has children of its own, niced, and as many as there are cores.  Work
that lasts for hours has a niced child to itself, which counts as nobody's.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Literal, TypeVar

import msgspec

from explorer.errors import UserError, WorkerDied
from explorer.worker import frames
from explorer.worker.limits import Settings
from explorer.worker.process import Child, Lost, Server

T = TypeVar("T")

START_TIMEOUT_S = 120.0
"""How long a server may take to import TVM before its first child greets."""


LASTING_S = 30 * 86400.0
"""For work that may last: in effect no limit."""


class WorkerBug(Exception):
    """Code of ours failed in the worker; the text is its traceback."""


State = Literal["cold", "warming", "ready"]


class Status(msgspec.Struct, frozen=True):
    """How far the worker is: "cold" (not started), "warming" (slower for now) or "ready"."""

    state: State
    busy: int = 0
    """Requests being worked on."""


class Job(Future[T]):
    """Work that nobody waits for; `cancel` also stops it when it has begun.

    `latest` is what it has found so far, for verbs that tell; `on_news`, if given, is called with
    each, in a thread of the pool.  One that is `urgent` gets a child that yields to nobody, one
    that is `lasting` keeps its child out of everybody's way.
    """

    def __init__(
        self,
        answer: Any = None,
        *,
        urgent: bool = False,
        lasting: bool = False,
        on_news: Callable[[T], None] | None = None,
    ) -> None:
        super().__init__()
        self.child: Child | None = None
        self.urgent = urgent
        self.lasting = lasting
        self.latest: T | None = None
        self._answer = answer
        self._on_news = on_news
        self._stopped = False

    def so_far(self, value: msgspec.Raw) -> None:
        """Note what it has found so far."""
        latest: T = msgspec.json.decode(value, type=self._answer)
        self.latest = latest
        if self._on_news is not None:
            self._on_news(latest)

    def cancel(self) -> bool:
        """Stop it.  False when it is already done; afterwards `result` raises CancelledError."""
        if super().cancel():
            return True
        if self.done():
            return False
        self._stopped = True
        if self.child is not None:
            self.child.kill("It was cancelled.")
        return True

    def cancelled(self) -> bool:
        """Whether it was stopped before it was done."""
        return super().cancelled() or self._stopped

    def hold(self, child: Child) -> None:
        """Note who works on it; one that was cancelled in the meantime is stopped at once."""
        self.child = child
        if self._stopped:
            child.kill("It was cancelled.")


class Pool:
    """Starts the server when first needed, and again when it dies.  Safe to use from any thread.

    `keep` bounds the children kept for the next request, `most` all that work at the same time.
    """

    def __init__(
        self, settings: Settings, *, keep: int | None = None, most: int | None = None
    ) -> None:
        cores = os.cpu_count() or 1
        self._settings = settings
        self._keep = cores + 2 if keep is None else keep
        self._most = 2 * (cores + 2) if most is None else most
        self._threads = cores
        self._free = threading.Condition(threading.RLock())
        self._server: Server | None = None
        self._idle: list[Child] = []
        """Least recently used first."""
        self._spare: Child | None = None
        self._busy: set[Child] = set()
        self._lasting: set[Child] = set()
        self._queue: queue.SimpleQueue[tuple[Job[Any], tuple[Any, ...]] | None] = (
            queue.SimpleQueue()
        )
        self._workers: list[threading.Thread] = []

    # What callers use

    def start(self) -> None:
        """Begin to warm up; returns at once."""
        with self._free:
            self._running_server()
            self._keep_a_spare()

    def ask(self, verb: str, answer: type[T], *args: Any, timeout_s: float = 10.0) -> T:
        """Ask and wait.

        Raises the UserError the worker gave, WorkerDied when there is no answer (crash, time,
        memory), WorkerBug with a traceback when our own code failed there.
        """
        return self._answer(verb, answer, args, timeout_s, None)

    def submit(self, verb: str, answer: type[T], *args: Any, timeout_s: float = 60.0) -> Job[T]:
        """Ask in the background; the job's `result` gives or raises what `ask` would."""
        job: Job[T] = Job(answer)
        with self._free:
            if len(self._workers) < self._threads:
                worker = threading.Thread(target=self._work, daemon=True, name="worker-background")
                self._workers.append(worker)
                worker.start()
        self._queue.put((job, (verb, answer, args, timeout_s)))
        return job

    def watch(
        self,
        verb: str,
        answer: type[T],
        *args: Any,
        timeout_s: float = 60.0,
        on_news: Callable[[T], None] | None = None,
    ) -> Job[T]:
        """Ask what takes long and tells what it finds: a child and a thread of its own, at once."""
        job: Job[T] = Job(answer, urgent=True, on_news=on_news)
        work = (job, (verb, answer, args, timeout_s))
        threading.Thread(target=self._do, args=work, daemon=True, name="worker-watch").start()
        return job

    def keep_at(self, verb: str, answer: type[T], *args: Any) -> Job[T]:
        """Ask what may take hours: a niced child that is not counted, until it is done."""
        job: Job[T] = Job(answer, lasting=True)
        work = (job, (verb, answer, args, LASTING_S))
        threading.Thread(target=self._do, args=work, daemon=True, name="worker-lasting").start()
        return job

    def status(self) -> Status:
        """How far the worker is, without asking it."""
        with self._free:
            stage = "gone" if self._server is None else self._server.stage
            state: State = "cold" if stage == "gone" else "warming"
            return Status("ready" if stage == "ready" else state, len(self._busy))

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> bool:
        """Start, and wait until everything is imported; False when that takes longer."""
        self.start()
        with self._free:
            return self._free.wait_for(lambda: self.status().state == "ready", timeout_s)

    def close(self) -> None:
        """End everything; a later request starts anew."""
        with self._free:
            for _ in self._workers:
                self._queue.put(None)
            self._workers.clear()
            server, self._server = self._server, None
            self._let_go(lambda child: True)
            for child in self._busy | self._lasting:
                child.kill("The workers were closed.")
        if server is not None:
            server.close()

    # One request

    def _answer(
        self, verb: str, answer: Any, args: tuple[Any, ...], timeout_s: float, job: Job[Any] | None
    ) -> Any:
        request = frames.Request(verb, list(args))
        try:
            reply = self._exchange(request, _affinity(args), timeout_s, job)
        except Lost:  # not our doing: the server died, or an idle child had; once more
            reply = self._exchange(request, _affinity(args), timeout_s, job, last=True)
        if reply.problem is not None:
            raise UserError.of(reply.problem)
        if reply.bug or reply.ok is msgspec.UNSET:
            raise WorkerBug(reply.bug or "an empty reply")
        return msgspec.json.decode(reply.ok, type=answer)

    def _exchange(
        self,
        request: frames.Request,
        affinity: int | None,
        timeout_s: float,
        job: Job[Any] | None,
        last: bool = False,
    ) -> frames.Reply:
        """Raises WorkerDied, or Lost when it is worth another try and not the `last` one."""
        aside = job is not None and not job.urgent
        if job is not None and job.lasting:
            child = self._fresh(last)
        else:
            child = self._take(request.verb, affinity, timeout_s, background=aside, last=last)
        healthy = False
        try:
            if job is not None:
                job.hold(child)
            child.greet(START_TIMEOUT_S)
            reply = child.ask(request, timeout_s, None if job is None else job.so_far)
            child.affinity = affinity
            healthy = not reply.retire and not (job is not None and job.lasting)
            return reply
        except Lost as lost:
            if lost.innocent and not last:
                raise
            raise _died(lost, child.last_words() or child.server.last_words()) from lost
        finally:
            self._give_back(child, healthy)

    def _work(self) -> None:
        """A background thread: one job after another, until None comes."""
        while (item := self._queue.get()) is not None:
            self._do(*item)

    def _do(self, job: Job[Any], request: tuple[Any, ...]) -> None:
        verb, answer, args, timeout_s = request
        if not job.set_running_or_notify_cancel():
            return
        try:
            result = self._answer(verb, answer, args, timeout_s, job)
        except BaseException as error:  # noqa: BLE001  handed on to whoever asks for the result
            job.set_exception(CancelledError() if job.cancelled() else error)
        else:
            job.set_result(result)

    # Children

    def _take(
        self, verb: str, affinity: int | None, timeout_s: float, *, background: bool, last: bool
    ) -> Child:
        with self._free:
            if not self._free.wait_for(lambda: len(self._busy) < self._most, timeout_s):
                raise WorkerDied(
                    "No worker was free in time.",
                    f"{self._most} requests are being worked on.",
                    "Wait for one to finish, or cancel one.",
                )
            server = self._running_server()
            early = server.stage != "ready" and verb in self._settings.warm_verbs
            child = None if early else self._pick(affinity, background)
            child = child or self._spawn(server, background, last)
            self._busy.add(child)
            self._keep_a_spare()
            return child

    def _fresh(self, last: bool) -> Child:
        """A niced child of a warm server for work that lasts."""
        self.wait_until_ready()
        with self._free:
            child = self._spawn(self._running_server(), True, last)
            self._lasting.add(child)
            return child

    def _spawn(self, server: Server, background: bool, last: bool) -> Child:
        try:
            return server.spawn(background=background)
        except Lost as lost:
            if last:
                raise _died(lost, server.last_words()) from lost
            raise

    def _pick(self, affinity: int | None, background: bool) -> Child | None:
        """The idle child that knows the subject, a fresh one while there is room, or the one
        unused for longest."""
        idle = [child for child in self._idle if child.background is background]
        same = [child for child in idle if child.affinity == affinity]
        if same or (idle and len(self._idle) + len(self._busy) >= self._keep):
            chosen = same[-1] if same else idle[0]
            self._idle.remove(chosen)
            return chosen
        spare = None
        if not background:
            spare, self._spare = self._spare, None
        return spare

    def _give_back(self, child: Child, healthy: bool) -> None:
        with self._free:
            self._busy.discard(child)
            self._lasting.discard(child)
            if healthy and child.server is self._server and not self._outdated(child):
                self._idle.append(child)
            else:
                child.close()
            while len(self._idle) > self._keep:
                self._idle.pop(0).close()
            self._free.notify_all()

    def _keep_a_spare(self) -> None:
        """A forked child waits ready, so that nobody waits for the fork."""
        if self._settings.warm_up and self._server is not None and self._spare is None:
            with contextlib.suppress(Lost):  # it died just now; the next request starts another
                self._spare = self._server.spawn(background=False)

    def _let_go(self, unwanted: Callable[[Child], bool]) -> None:
        """Close those of the waiting children that are `unwanted`."""
        for child in [child for child in self._idle if unwanted(child)]:
            self._idle.remove(child)
            child.close()
        if self._spare is not None and unwanted(self._spare):
            self._spare.close()
            self._spare = None

    def _outdated(self, child: Child) -> bool:
        """Forked before the server was warm, or grown so much that the limit comes near."""
        if child.server.stage == "ready" and not child.warm and self._settings.warm_up:
            return True
        return child.memory_bytes() > self._settings.limits.memory_bytes // 2

    def _running_server(self) -> Server:
        if self._server is None or self._server.stage == "gone":
            self._let_go(lambda child: True)
            self._server = Server(self._settings, self._on_stage)
        return self._server

    def _on_stage(self) -> None:
        """The server is warm now: children forked before are replaced."""
        with self._free:
            self._let_go(self._outdated)
            self._keep_a_spare()
            self._free.notify_all()


def _affinity(args: tuple[Any, ...]) -> int | None:
    """What a request is about: its source, by content."""
    if not args:
        return None
    subject = getattr(args[0], "source", args[0])
    try:
        return hash(subject)
    except TypeError:
        return None


def _died(lost: Lost, details: str) -> WorkerDied:
    return WorkerDied(
        "TVM did not finish this request.",
        lost.cause,
        "Your steps are all there: try again, or undo the last step.",
        details=details,
    )
