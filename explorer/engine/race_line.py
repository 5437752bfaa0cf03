"""The conversation with a process that runs variants, and the process' side of it.

Each message is one packet of JSON.  The process is forked, answers until the line closes, and is
ended for taking too long.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
from collections.abc import Callable
from typing import Literal, NoReturn, Protocol

import msgspec

from explorer.runners import Say, Unreachable

PACKET_BYTES = 1 << 16
_DEATH_SIGNAL = 1
_TEXT = 4000


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """Load variant `variant` (from `file`, if any), or give it a turn of `calls` timed calls."""

    do: Literal["load", "turn"]
    variant: int
    file: str = ""
    plan: int = 0
    calls: int = 1
    flush: bool = False


class Told(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The answer.  `failed` ends this process' use; `refused` only says that a load can't be.

    `wrong` says how outputs differ; `clean` is False when the system interrupted the turn; `us` is
    the mean time of a call.  `waits` tells that only the device's name is known yet.
    """

    failed: str = ""
    refused: str = ""
    wrong: str = ""
    us: float = 0.0
    clean: bool = True
    device: str = ""
    driver: str = ""
    triple: str = ""
    waits: bool = False


class NotLoaded(Exception):
    """One variant can't be made ready; the message is a sentence.  The others can still be."""


class Stand(Protocol):
    """What a process does for its orders, once it is there."""

    hello: Told

    def load(self, order: Order) -> None:
        """Make a variant ready.  Raises NotLoaded."""

    def turn(self, order: Order) -> Told:
        """Run a variant."""


Make = Callable[[Say], Stand]
"""Called in the process: take the device.  Raises Unreachable."""


def run(line: socket.socket, make: Make) -> NoReturn:
    """In the forked process: say who answered, then take orders until the line closes."""
    status = 1
    try:
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
        os.setpgid(0, 0)
        if os.getppid() == parent:
            _serve(line, make)
        status = 0
    finally:
        os._exit(status)


def unlimited_data() -> None:
    """Lift the bound on private memory, as far as it may be, for what maps far more than it uses.

    A CUDA context reserves address space for the memory of the whole GPU and of the host next to
    it; RLIMIT_DATA counts some of that, and the driver reports the refused mapping as "out of
    memory" or ends the process.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _serve(line: socket.socket, make: Make) -> None:
    try:
        stand = make(lambda device: _send(line, Told(device=device, waits=True)))
    except Unreachable as why:
        _send(line, Told(failed=str(why)))
        return
    except Exception as failure:  # noqa: BLE001  the only way to tell
        _send(line, Told(failed=_said(failure)))
        return
    _send(line, stand.hello)
    while data := line.recv(PACKET_BYTES):
        order = msgspec.json.decode(data, type=Order)
        try:
            if order.do == "load":
                stand.load(order)
                told = Told()
            else:
                told = stand.turn(order)
        except NotLoaded as why:
            told = Told(refused=str(why)[:_TEXT])
        except Exception as failure:  # noqa: BLE001  a CUDA error, a lost session, a refusal
            told = Told(failed=_said(failure))
        _send(line, told)


def _send(line: socket.socket, told: Told) -> None:
    line.send(msgspec.json.encode(told))


def _said(failure: BaseException) -> str:
    lost = ("RPCCode", "SockChannel")  # where TVM's RPC reads from a connection that is gone
    if isinstance(failure, ConnectionError) or any(word in str(failure) for word in lost):
        return "the server closed the connection"
    lines = [text.strip() for text in str(failure).splitlines() if text.strip()]
    return (lines[-1] if lines else type(failure).__name__)[:_TEXT]


def interruptions() -> int:
    """How often the system took the processor away from this process, all threads together."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
