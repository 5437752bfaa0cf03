"""A process that runs variants as the race sees it: started, given orders, ended when it hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable

import msgspec

from explorer.engine import race_line
from explorer.engine.isolate import forking
from explorer.engine.race_line import PACKET_BYTES, Make, NotLoaded, Order, Told

HELLO_S = 60.0
LOAD_S = 60.0
"""For building and loading one variant."""


class Gone(Exception):
    """The process or its device is not there any more; the message is a sentence.

    `device` is the device's name, as far as it is known.
    """

    def __init__(self, why: str, device: str = "") -> None:
        super().__init__(why)
        self.device = device


class Lane:
    """Start it, load variants, give turns.  Every method but `close` raises Gone."""

    def __init__(
        self, make: Make, *, allow: Callable[[str], str] = lambda device: "",
        hello_s: float = HELLO_S,
    ) -> None:  # fmt: skip
        """`allow` says why the device of that name is not to be used, or ""."""
        self.device = ""
        """Its name, as soon as it is known."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line = ours
        with forking:
            self._pid = os.fork()
            if self._pid == 0:
                ours.close()
                race_line.run(theirs, make)
        theirs.close()
        self.hello = self._hear(hello_s)
        while self.hello.waits:
            self.device = self.hello.device
            if why := allow(self.device):
                self.close()
                raise Gone(why, self.device)
            self.hello = self._hear(hello_s)
        self.device = self.hello.device

    def load(self, variant: int, file: str = "") -> None:
        """Build and load a variant, or load the file it was exported to.  Raises NotLoaded."""
        told = self._ask(Order("load", variant, file), LOAD_S)
        if told.refused:
            raise NotLoaded(told.refused)

    def turn(self, variant: int, plan: int, calls: int, flush: bool, timeout_s: float) -> Told:
        """One turn of a variant."""
        return self._ask(Order("turn", variant, "", plan, calls, flush), timeout_s)

    def close(self) -> None:
        """End the process and everything it started."""
        self._line.close()
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _ask(self, order: Order, timeout_s: float) -> Told:
        try:
            self._line.send(msgspec.json.encode(order))
        except OSError:
            raise Gone(self._ended()) from None
        return self._hear(timeout_s)

    def _hear(self, timeout_s: float) -> Told:
        self._line.settimeout(timeout_s)
        try:
            data = self._line.recv(PACKET_BYTES)
        except TimeoutError:
            self.close()
            raise Gone(f"no answer within {timeout_s:.0f} s; it was stopped", self.device) from None
        except OSError:
            data = b""
        if not data:
            raise Gone(self._ended(), self.device)
        told: Told = msgspec.json.decode(data, type=Told)
        if told.failed:
            self.close()
            raise Gone(told.failed, self.device)
        return told

    def _ended(self) -> str:
        """How the process ended."""
        self._line.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        try:
            _, status = os.waitpid(self._pid, 0)
        except ChildProcessError:
            return "its process is gone"
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"its process crashed ({signal.Signals(-code).name})"
        return f"its process ended with status {code}"
