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


@contextlib.contextmanager
def locked(device: str, wait_s: float) -> Iterator[None]:
    """Hold the device; released when the process ends, however that happens.  Raises Busy."""
    path = _file(device, "lock")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Busy from None
                time.sleep(_POLL_S)
        yield


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
