"""One race at a time on a device; one that was lost is left alone, and used again when asked."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from explorer.engine import device_lock

HOLD = """
import sys
from explorer.engine import device_lock
with device_lock.locked("gpu", 5):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_waits_and_a_dead_one_holds_nothing() -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(device_lock.Busy), device_lock.locked("gpu", 0.1):
        pass
    with device_lock.locked("another gpu", 0.1):
        pass
    other.kill()
    other.wait()
    other.stdin.close()
    other.stdout.close()
    with device_lock.locked("gpu", 5):
        pass


def test_a_lost_device_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_lock.quarantined("far") == ""
    device_lock.quarantine("far", "it hung")
    assert "(it hung)" in device_lock.quarantined("far")
    assert device_lock.quarantined("near") == ""
    device_lock.release("far")
    assert device_lock.quarantined("far") == ""
    device_lock.quarantine("far", "it hung")
    path = device_lock._file("far", "lost")
    os.utime(path, (0, 0))
    assert device_lock.quarantined("far") == ""
