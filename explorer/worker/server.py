"""The fork server: imports TVM once, then forks a ready child for every connection handed to it.

Run as `python -m explorer.worker.server SETTINGS`, with one end of a socket pair as standard
input.  A message there carries two file descriptors, the child's connection and its log, and a
byte that says whether it works in the background.  Events go back the same way.  When the other
end closes, the server and everything it started are gone.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType

import msgspec

from explorer.worker import child, frames
from explorer.worker.limits import Settings, apply


class Server:
    """Owns the control socket and the children.  Only the main thread forks."""

    def __init__(self, control: socket.socket, settings: Settings) -> None:
        self.control = control
        self.settings = settings
        self.children: set[int] = set()
        self.stage = "importing"
        self._ended = self._reaping = False

    def run(self) -> None:
        """Import, serve what came meanwhile, warm up, then serve until the client is gone."""
        threading.Thread(target=self._die_with_client, daemon=True, name="lifeline").start()
        signal.signal(signal.SIGCHLD, self._reap)
        table = child.load_table(self.settings.answers)
        child.import_modules(table)
        self._enter("imported")
        while self._fork_waiting(timeout_s=0):
            pass
        if self.settings.warm_up:
            child.warm_up(self.settings.warm_up)
        self._enter("ready")
        if self.settings.aside:
            self._fork(partial(child.warm_up, self.settings.aside), background=True)
        while True:
            self._fork_waiting(timeout_s=None)

    def _enter(self, stage: str) -> None:
        """Report a stage.  What is imported by now is moved out of the collector's reach, so that
        a collection in a child does not copy the pages it shares with us."""
        self.stage = stage
        gc.collect()
        gc.freeze()
        self._tell(frames.Event(stage=stage))

    def _fork_waiting(self, timeout_s: float | None) -> bool:
        """Fork for one waiting message; False when none came in time."""
        if not select.select([self.control], [], [], timeout_s)[0]:
            return False
        message, fds, _, _ = socket.recv_fds(self.control, 1, 2)
        if not message:
            self._end()
        if len(fds) == 2:
            self._fork(partial(self._serve, *fds), background=message == b"b")
        for fd in fds:
            os.close(fd)
        return True

    def _fork(self, work: Callable[[], None], *, background: bool) -> None:
        """Start a child that does `work` and ends."""
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid:
            self.children.add(pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            self._reap()  # it may have ended before it was noted down
            return
        status = 1
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            apply(self.settings.limits, parent, background=background)
            self.control.detach()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            work()
            status = 0
        finally:
            os._exit(status)

    def _serve(self, connection: int, log: int) -> None:
        """In a child: answer requests until the connection closes."""
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        child.serve(
            socket.socket(fileno=connection),
            self.settings.answers,
            self.settings.limits.answer_bytes,
            warm=self.stage == "ready",
        )

    def _reap(self, signum: int = 0, frame: FrameType | None = None) -> None:
        """Bury ended children, take along what they had started, and report them.

        A signal that comes meanwhile calls this again in the middle: that call only asks for
        another look, or both would bury the same child.
        """
        self._ended = True
        while self._ended and not self._reaping:
            self._ended, self._reaping = False, True
            for pid in tuple(self.children):
                self._bury(pid)
            self._reaping = False

    def _bury(self, pid: int) -> None:
        """Report a child and forget it, if it has ended."""
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return
        _kill_group(pid)  # before the wait: until then nobody else can have this number
        _, status = os.waitpid(pid, 0)
        self.children.discard(pid)
        self._tell(frames.Event(ended=pid, status=os.waitstatus_to_exitcode(status)))

    def _tell(self, event: frames.Event) -> None:
        with contextlib.suppress(OSError):  # the client is gone: the lifeline ends us
            frames.send(self.control, event)

    def _die_with_client(self) -> None:
        """Wait for the client's end to close; works while the main thread is busy importing."""
        poll = select.poll()
        poll.register(self.control, select.POLLRDHUP)
        poll.poll()
        self._end()

    def _end(self) -> None:
        for pid in tuple(self.children):
            _kill_group(pid)
        os._exit(0)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it may not have made its group yet
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    Server(socket.socket(fileno=0), msgspec.json.decode(sys.argv[1], type=Settings)).run()
