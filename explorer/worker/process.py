"""The client's handles on the fork server and on one child of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from explorer.worker import frames
from explorer.worker.limits import Settings, data_bytes

T = TypeVar("T")

_ROOT = Path(__file__).parents[2]
_LOG_TAIL_BYTES = 4000
_REMEMBERED = 100
"""Ends of children kept until somebody asks."""


class Lost(Exception):
    """The other end is gone.  `cause` is a sentence; `innocent` when our request did not do it."""

    def __init__(self, cause: str, *, innocent: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.innocent = innocent


class Server:
    """A running fork server.  `stage` is "importing", "imported", "ready" or "gone"."""

    def __init__(self, settings: Settings, on_stage: Callable[[], None]) -> None:
        self._control, theirs = socket.socketpair()
        self._log = _log_file()
        self._on_stage = on_stage
        self._news = threading.Condition()
        self._ended: dict[int, int] = {}
        self._last_words = ""
        self.stage = "importing"
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")]))
        with theirs:
            # -P: a tvm.py in the user's folder is not what we mean.  A session of its own: Ctrl-C
            # in the terminal ends us, and the server follows when the socket closes.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-u", "-m", "explorer.worker.server", _text(settings)],
                stdin=theirs.fileno(),
                stdout=self._log,
                stderr=self._log,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        threading.Thread(target=self._listen, daemon=True, name="worker-events").start()

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def spawn(self, *, background: bool) -> Child:
        """Ask for a child.  Returns at once; the child greets when it is there.  Raises Lost."""
        ours, theirs = socket.socketpair()
        log = _log_file()
        with theirs:
            try:
                socket.send_fds(
                    self._control, [b"b" if background else b"f"], [theirs.fileno(), log]
                )
            except OSError as error:
                ours.close()
                os.close(log)
                raise Lost("The worker server is gone.", innocent=True) from error
        return Child(self, ours, log, background)

    def exit_status(self, pid: int, timeout_s: float) -> int | None:
        """How the child `pid` ended (negative: signal), or None when the server does not say."""
        with self._news:
            self._news.wait_for(lambda: pid in self._ended or self.stage == "gone", timeout_s)
            return self._ended.pop(pid, None)

    def last_words(self) -> str:
        """The end of what the server printed."""
        with self._news:
            return self._last_words if self.stage == "gone" else _tail(self._log)

    def close(self) -> None:
        """End the server and all its children, and wait until it is gone."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, frames.BadFrame):
            while (data := frames.receive_bytes(self._control)) is not None:
                event = frames.decode(data, frames.Event)
                with self._news:
                    if event.ended:
                        self._ended[event.ended] = event.status
                        if len(self._ended) > _REMEMBERED:
                            del self._ended[next(iter(self._ended))]
                    self.stage = event.stage or self.stage
                    self._news.notify_all()
                if event.stage:
                    self._on_stage()
        self._process.kill()
        self._process.wait()
        with self._news:
            self.stage = "gone"
            self._last_words = _tail(self._log)
            self._control.close()
            os.close(self._log)
            self._news.notify_all()


class Child:
    """One connection to a forked child.  Used by one thread at a time, except `kill`."""

    def __init__(self, server: Server, connection: socket.socket, log: int, background: bool):
        self.server = server
        self.background = background
        self.hello: frames.Hello | None = None
        self.affinity: int | None = None
        """What the last request was about; a cache for it is warm here."""
        self._asked_when_ready = server.stage == "ready"
        self._connection = connection
        self._log = log
        self._killed = ""

    def greet(self, timeout_s: float) -> frames.Hello:
        """Wait until the child is there.  Raises Lost."""
        if self.hello is None:
            data = self._receive(time.monotonic() + timeout_s)
            if data is None:
                raise Lost("It was not started in time.")
            self.hello = self._decode(data, frames.Hello)
        return self.hello

    def ask(
        self,
        request: frames.Request,
        timeout_s: float,
        so_far: Callable[[msgspec.Raw], None] | None = None,
    ) -> frames.Reply:
        """Send and wait for the reply; `so_far` gets what comes before it.

        Raises Lost with a sentence when there is none.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self._connection.settimeout(timeout_s)
            frames.send(self._connection, request)
        except OSError as error:  # it died while nobody asked it anything
            raise Lost(self._obituary(), innocent=not self._killed) from error
        while True:
            data = self._receive(deadline)
            if data is None:
                self._where()
                self.kill(f"It did not finish within {timeout_s:g} s and was stopped.")
                raise Lost(self._killed)
            reply = self._decode(data, frames.Reply)
            if reply.so_far is msgspec.UNSET:
                return reply
            if so_far is not None:
                so_far(reply.so_far)

    def kill(self, why: str) -> None:
        """End the child and everything it started; a thread that waits for it gets Lost(why)."""
        self._killed = self._killed or why
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        if self.hello is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.hello.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of a child; it and what it started are gone soon after."""
        self.kill("It was let go.")
        self._connection.close()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    @property
    def warm(self) -> bool:
        """Forked by a server that was ready; False while unknown."""
        return self._asked_when_ready or (self.hello is not None and self.hello.warm)

    def memory_bytes(self) -> int:
        """Private writable memory it has now; 0 when it is gone or has not greeted yet."""
        return data_bytes(self.hello.pid) if self.hello is not None else 0

    def last_words(self) -> str:
        """The end of what the child printed during its last request."""
        return _tail(self._log)

    def _where(self) -> None:
        """Let the child write into its log where it is."""
        if self.hello is not None:
            before = os.fstat(self._log).st_size
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.hello.pid, signal.SIGUSR1)
            for _ in range(20):
                if os.fstat(self._log).st_size > before:
                    return
                time.sleep(0.005)

    def _receive(self, deadline: float) -> bytes | None:
        """The next frame, None when it did not come in time.  Raises Lost when none can come."""
        try:
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            data = frames.receive_bytes(self._connection)
        except TimeoutError:
            return None
        except OSError:
            data = None
        except frames.BadFrame as error:
            self.kill("Its answer made no sense.")
            raise Lost(self._killed) from error
        if data is None:
            cause = self._obituary()
            never_asked = self.hello is None or self.server.stage == "gone"
            raise Lost(cause, innocent=never_asked and not self._killed)
        return data

    def _decode(self, data: bytes, wanted: type[T]) -> T:
        try:
            return frames.decode(data, wanted)
        except frames.BadFrame as error:
            self.kill("Its answer made no sense.")
            raise Lost(self._killed) from error

    def _obituary(self) -> str:
        if self._killed:
            return self._killed
        status = self.server.exit_status(self.hello.pid if self.hello else 0, timeout_s=1.0)
        if status is None:
            return "Its process ended."
        if status < 0:
            return f"Its process crashed ({signal.Signals(-status).name})."
        return f"Its process ended with status {status}."


def _text(settings: Settings) -> str:
    return msgspec.json.encode(settings).decode()


def _log_file() -> int:
    """An anonymous file that only ever grows at its end, so that it can be emptied in between."""
    log = os.memfd_create("worker-log")
    fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
    return log


def _tail(log: int) -> str:
    start = max(os.fstat(log).st_size - _LOG_TAIL_BYTES, 0)
    return os.pread(log, _LOG_TAIL_BYTES, start).decode(errors="replace").strip()
