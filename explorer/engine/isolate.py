"""Run something dangerous in a forked child: how it dies is an answer, too."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")

forking = threading.Lock()
"""Held while a process is forked and while TVM compiles in another thread: a fork in the middle of
LLVM's work would leave the new process with LLVM's locks taken."""


class Died(Exception):
    """The child ended without an answer; the message says how."""


def isolated(work: Callable[[], T], kind: type[T], timeout_s: float) -> T:
    """The answer of `work` from a forked child.  Raises Died; a bug's traceback is in it."""
    receive, send = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with forking:
        pid = os.fork()
        if pid == 0:
            os.close(receive)
            _answer(work, send)
    os.close(send)
    data, ended = bytearray(), False
    deadline = time.monotonic() + timeout_s
    while not ended:
        ready, _, _ = select.select([receive], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            break
        part = os.read(receive, 1 << 16)
        ended = not part
        data += part
    os.close(receive)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not ended:
        raise Died(f"no answer within {timeout_s:.0f} s")
    if os.WIFSIGNALED(status):
        raise Died(f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}")
    if not data or data[:1] == b"!":
        raise Died(data[1:].decode(errors="replace") or "it gave no answer")
    return msgspec.json.decode(bytes(data[1:]), type=kind)


def _answer(work: Callable[[], T], send: int) -> None:
    """In the child: send the answer or the traceback, and end without cleaning up."""
    code = 0
    try:
        data = b"=" + msgspec.json.encode(work())
    except BaseException:  # noqa: BLE001  the child's only way to tell
        data, code = b"!" + traceback.format_exc().encode(), 1
    try:
        with os.fdopen(send, "wb") as pipe:
            pipe.write(data)
    finally:
        os._exit(code)
