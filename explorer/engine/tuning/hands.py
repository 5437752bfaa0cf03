"""Processes forked from the coordinator: each takes an order, answers, and may die of it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from explorer.engine.failures import last_line
from explorer.engine.tuning.talk import Answer, Broken, Order

Work = Callable[[Order], Answer]
"""What a hand does with an order, made in the hand."""

FOREVER = float("inf")
_DEATH_SIGNAL = 1
_LENGTH = struct.Struct("<I")
_BUFFER_BYTES = 1 << 20
_SEND_S = 10.0
"""A hand that reads nothing for so long is counted as hung."""
_PATIENCE = 5.0
"""On a busy machine an order may take so many times its limit."""

_lines: set[socket.socket] = set()
"""The coordinator's ends: a forked hand closes those of the others."""


class Died(Exception):
    """The hand is gone; the message says how it ended ("hand died (SIGSEGV)")."""


class Hand:
    """One process with at most one order at a time.  Only `order` and `receive` raise Died."""

    def __init__(self, work: Callable[[], Work]) -> None:
        """Fork it; `work` is called there."""
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            for line in (ours, *_lines):
                line.close()
            _serve(theirs, work)
        theirs.close()
        self.line = ours
        self.order: Order | None = None
        self.limit_s = self.deadline = FOREVER
        self.began = 0.0
        self._waited_s = 0.0
        self.data: Any = None
        """The coordinator's own note on the order."""
        self._stopped_at: float | None = None
        self._heard = bytearray()
        ours.setblocking(False)
        _lines.add(ours)

    @property
    def idle(self) -> bool:
        """It waits for an order."""
        return self.order is None

    def give(self, order: Order, limit_s: float, data: Any = None) -> None:
        """Give it an order, which may take `limit_s` seconds of its own time.  Raises Died.

        The time that it waits for a processor, or is paused, is not its own.
        """
        self.order, self.data, self.limit_s = order, data, limit_s
        self.began = time.monotonic()
        self.deadline = self.began + limit_s
        self._waited_s = _waited_s(self.pid)
        payload = msgspec.json.encode(order)
        try:
            self.line.settimeout(_SEND_S)
            self.line.sendall(_LENGTH.pack(len(payload)) + payload)
            self.line.setblocking(False)
        except OSError:
            raise Died(self._buried()) from None

    def receive(self) -> Answer | None:
        """Its answer, if all of it is here; then it is idle.  Raises Died."""
        try:
            data = self.line.recv(_BUFFER_BYTES)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            data = b""
        if not data:
            raise Died(self._buried())
        self._heard += data
        if len(self._heard) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._heard)
        if len(self._heard) < _LENGTH.size + length:
            return None
        try:
            answer: Answer = msgspec.json.decode(bytes(self._heard[_LENGTH.size :]), type=Answer)
        except msgspec.DecodeError:
            self.kill()
            raise Died("hand answered nonsense") from None
        self._heard.clear()
        self.order, self.deadline = None, FOREVER
        return answer

    def pause(self) -> None:
        """Stop it where it is; the time does not count."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it work again."""
        if self._stopped_at is not None:
            stopped = time.monotonic() - self._stopped_at
            self.began += stopped
            self.deadline += stopped
            self._stopped_at = None
            self._signal(signal.SIGCONT)

    def overdue(self) -> bool:
        """Its order takes too long."""
        late_s = time.monotonic() - self.deadline
        if self._stopped_at is not None or late_s <= 0:
            return False
        waited_s = _waited_s(self.pid) - self._waited_s
        return late_s > min(waited_s, (_PATIENCE - 1) * self.limit_s)

    def kill(self) -> None:
        """End it."""
        self._buried()

    def _buried(self) -> str:
        """How it ended; one that lives is killed."""
        _lines.discard(self.line)
        self.line.close()
        self._signal(signal.SIGKILL)  # changes nothing for one that is ending already
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            return "hand ended"
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"hand died ({signal.Signals(-code).name})"
        return f"hand ended (status {code})"

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


def listen(hands: list[Hand], timeout_s: float) -> list[Hand]:
    """The hands that have something to say, after at most `timeout_s`."""
    lines = {hand.line: hand for hand in hands}
    ready, _, _ = select.select(list(lines), [], [], timeout_s)
    return [lines[line] for line in ready]


def _waited_s(pid: int) -> float:
    """How long a process wanted a processor and had none, so far; 0 where Linux does not say."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _serve(line: socket.socket, work: Callable[[], Work]) -> NoReturn:
    """In the hand: take orders until the line closes."""
    status = 1
    try:
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == parent:
            log = _own_log()
            do = work()
            while (data := _read(line)) is not None:
                os.ftruncate(log, 0)
                answer = msgspec.json.encode(_done(do, msgspec.json.decode(data, type=Order)))
                line.sendall(_LENGTH.pack(len(answer)) + answer)
            status = 0
    finally:
        os._exit(status)


def _done(do: Work, order: Order) -> Answer:
    try:
        return do(order)
    except Exception as failure:  # noqa: BLE001  the only way to tell; the candidate pays for it
        return Broken(f"{type(failure).__name__}: {last_line(str(failure))}")


def _own_log() -> int:
    """What TVM prints goes to a file in memory that is emptied for each order."""
    log = os.memfd_create("hand-log")
    fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    return log


def _read(line: socket.socket) -> bytes | None:
    head = _exactly(line, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    return _exactly(line, length)


def _exactly(line: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        part = line.recv(min(count - len(data), _BUFFER_BYTES))
        if not part:
            return None
        data += part
    return bytes(data)
