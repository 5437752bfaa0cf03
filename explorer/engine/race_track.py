"""The process that runs variants on one device, and its side of the conversation.

It is forked for a device and lives until the race ends, a variant takes it down, or it is ended for
taking too long.  Each message is one packet of JSON.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
import numpy as np
import tvm

from explorer.engine.race_material import PLANS, Material
from explorer.model.race import Where
from explorer.runners import Connection, Place, Runner, Unreachable

PACKET_BYTES = 1 << 16
FLUSH_BYTES = 256 << 20
"""Copied before a call that is to find a cold cache: more than any GPU's L2, most CPUs' L3."""
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
    """The answer.  `failed` ends this process' use; `wrong` says how outputs differ.

    `clean` is False when the system interrupted the turn; `us` is the mean time of a call.
    `waits` tells that only the device's name is known yet.
    """

    failed: str = ""
    wrong: str = ""
    us: float = 0.0
    clean: bool = True
    device: str = ""
    driver: str = ""
    triple: str = ""
    waits: bool = False


def run(
    line: socket.socket, runner: Runner, place: Place, where: Where, session_s: float,
    material: Material, modules: dict[int, Any],
) -> NoReturn:  # fmt: skip
    """In the forked process: connect, say who answered, then take orders until the line closes."""
    status = 1
    try:
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
        os.setpgid(0, 0)
        if os.getppid() == parent:
            _serve(line, runner, place, where, session_s, material, modules)
        status = 0
    finally:
        os._exit(status)


def _serve(
    line: socket.socket, runner: Runner, place: Place, where: Where, session_s: float,
    material: Material, modules: dict[int, Any],
) -> None:  # fmt: skip
    def say(device: str) -> None:
        _send(line, Told(device=device, waits=True))

    try:
        connection = runner.connect(place, where, session_s, say)
        track = _Track(connection, material, modules)
    except Unreachable as why:
        _send(line, Told(failed=str(why)))
        return
    except Exception as failure:  # noqa: BLE001  the only way to tell
        _send(line, Told(failed=_said(failure)))
        return
    hello = Told(device=connection.name, driver=connection.driver, triple=connection.triple)
    _send(line, hello)
    while data := line.recv(PACKET_BYTES):
        order = msgspec.json.decode(data, type=Order)
        try:
            told = track.load(order) if order.do == "load" else track.turn(order)
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


class _Track:
    """Device memory for one function, and the modules loaded so far."""

    def __init__(self, connection: Connection, material: Material, modules: dict[int, Any]) -> None:
        self.connection = connection
        self.material = material
        self.modules = modules
        self.loaded: dict[int, Any] = {}
        self.kept: dict[tuple[int, int], list[np.ndarray | None]] = {}
        """Outputs seen last, by variant and inputs; `proved` tells that they are right."""
        self.proved: set[tuple[int, int]] = set()
        self.start = [self._tensors(start) for start in material.start]
        self.work = self._tensors(material.start[0])
        self.arguments = material.arrays.arguments(self.work, PLANS[0])

    def load(self, order: Order) -> Told:
        """Make a variant ready."""
        built = Path(order.file) if order.file else self.modules[order.variant]
        self.loaded[order.variant] = self.connection.load(built)
        return Told()

    def turn(self, order: Order) -> Told:
        """Fresh contents, timed calls, outputs compared."""
        module = self.loaded[order.variant]
        wrong = ""
        if self.material.changes_inputs:
            # Timed calls work on what the call before left: one call alone can be compared.
            self._reset(order.plan)
            module[self.material.name](*self.arguments)
            self.connection.device.sync()
            wrong = self._wrong(order)
        self._reset(order.plan)
        timer = module.time_evaluator(
            self.material.name, self.connection.device, number=order.calls, repeat=1,
            cache_flush_bytes=FLUSH_BYTES if order.flush else 0,
        )  # fmt: skip
        before = _interruptions()
        seconds = timer(*self.arguments).results[0]
        clean = not self.connection.in_process or _interruptions() == before
        if not self.material.changes_inputs:
            wrong = self._wrong(order)
        return Told(us=seconds * 1e6, clean=clean, wrong=wrong)

    def _tensors(self, contents: list[np.ndarray]) -> list[Any]:
        found = []
        for param, values in zip(self.material.subject.params, contents, strict=True):
            tensor = tvm.runtime.empty(values.shape, param.dtype, self.connection.device)
            tensor.copyfrom(values)
            found.append(tensor)
        return found

    def _reset(self, plan: int) -> None:
        for start, work in zip(self.start[plan], self.work, strict=True):
            start.copyto(work)
        self.connection.device.sync()

    def _wrong(self, order: Order) -> str:
        """How the outputs differ from the reference, or from an earlier run while there is none."""
        material, key = self.material, (order.variant, order.plan)
        outputs = [
            None if param.role == "in" else work.numpy()
            for param, work in zip(material.subject.params, self.work, strict=True)
        ]
        kept = self.kept.get(key)
        same = kept is not None and all(
            a is None or (b is not None and a.tobytes() == b.tobytes())
            for a, b in zip(outputs, kept, strict=True)
        )
        if same and (key in self.proved or not material.has_reference):
            return ""
        wrong = ""
        if material.has_reference:
            wrong = material.wrong(order.plan, outputs)
            if not wrong and kept is not None and key not in self.proved and not same:
                wrong = material.wrong(order.plan, kept)  # what it left before there was one
            if not wrong:
                self.proved.add(key)
        elif kept is not None:
            wrong = self._unsteady(outputs, kept)
        self.kept[key] = outputs
        return wrong

    def _unsteady(self, outputs: list[np.ndarray | None], kept: list[np.ndarray | None]) -> str:
        for at, (now, before) in enumerate(zip(outputs, kept, strict=True)):
            if now is not None and before is not None:
                if self.material.compare(at, now, before).count:
                    name = self.material.subject.params[at].name
                    return f"{name} differs from run to run on the same inputs."
        return ""


def _interruptions() -> int:
    """How often the system took the processor away from this process, all threads together."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
