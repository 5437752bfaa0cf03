"""One race at a time on a device, across sessions and processes; and devices that were lost."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from explorer.engine import disk_cache

QUARANTINE_S = 600.0
"""A device that was lost is left alone for so long."""
_POLL_S = 0.05


class Busy(Exception):
    """Another race kept the device for too long."""


class Turn:
    """A turn on the device, asked for without waiting.

    Who asks stands in the gate until the device is free, and whoever asks again after a turn comes
    behind them: nobody who keeps using a device keeps others from it.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._gate = self._turn = -1

    @property
    def held(self) -> bool:
        """It is our turn."""
        return self._turn >= 0

    def take(self) -> bool:
        """Take the device if it is free; else ask again soon, or give up with `give`."""
        if self._turn < 0:
            if self._gate < 0:
                self._gate = _take(_file(self._device, "gate"))
            if self._gate >= 0:
                self._turn = _take(_file(self._device, "lock"))
            if self._turn >= 0:
                self._gate = _give(self._gate)
        return self._turn >= 0

    def give(self) -> None:
        """The turn is over, or no longer wanted."""
        self._gate, self._turn = _give(self._gate), _give(self._turn)


@contextlib.contextmanager
def locked(device: str, wait_s: float) -> Iterator[None]:
    """Hold the device; released when the process ends, however that happens.  Raises Busy."""
    turn = Turn(device)
    deadline = time.monotonic() + wait_s
    try:
        while not turn.take():
            if time.monotonic() > deadline:
                raise Busy
            time.sleep(_POLL_S)
        yield
    finally:
        turn.give()


_held: set[int] = set()


def _take(path: Path) -> int:
    """The descriptor of a file that is ours alone now; -1 while it is somebody else's."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return -1
    _held.add(file)
    return file


def _give(file: int) -> int:
    if file >= 0:
        _held.discard(file)
        os.close(file)
    return -1


def _let_go() -> None:
    """In a forked child: the turn is its parent's, and ends with that."""
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)


def quarantine(device: str, why: str) -> None:
    """Leave the device alone for a while."""
    with contextlib.suppress(OSError):  # it only costs the next race the same wait
        path = _file(device, "lost")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(why, encoding="utf-8")


def release(device: str) -> None:
    """Use the device again."""
    _file(device, "lost").unlink(missing_ok=True)


def quarantined(device: str) -> str:
    """Why the device is left alone and for how much longer, or ""."""
    path = _file(device, "lost")
    try:
        left = QUARANTINE_S - (time.time() - os.stat(path).st_mtime)
        why = path.read_text(encoding="utf-8")
    except OSError:
        return ""
    if left <= 0:
        return ""
    return f"It was lost a short while ago ({why}) and is left alone for {left / 60:.0f} min more."


def _file(device: str, kind: str) -> Path:
    return disk_cache.folder() / "devices" / (re.sub(r"\W+", "_", device) + f".{kind}")
