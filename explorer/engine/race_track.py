"""Variants on one device, through TVM: built here or loaded from a file, run, timed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from explorer.engine.race_line import Make, Order, Told, interruptions, unlimited_data
from explorer.engine.race_material import PLANS, Material
from explorer.engine.race_outputs import Contents, Outputs
from explorer.model.race import Where
from explorer.runners import Connection, Place, Runner, Say

FLUSH_BYTES = 256 << 20
"""Copied before a call that is to find a cold cache: more than any GPU's L2, most CPUs' L3."""

Build = Callable[[int], Any]
"""The runtime module of a variant, made in this process.  Raises NotLoaded."""


def track(
    runner: Runner, place: Place, where: Where, session_s: float, material: Material, build: Build
) -> Make:
    """What a process is to do that runs variants on `place`.

    Modules without a file are built in the process itself: a build that crashes or hangs loses
    only its variant, and the first variant runs before the second one is built.
    """

    def make(say: Say) -> Track:
        if place.cuda and runner.NAME == "local_cuda":
            unlimited_data()
        return Track(runner.connect(place, where, session_s, say), material, build)

    return make


class Track:
    """Device memory for one function, and the modules loaded so far."""

    def __init__(self, connection: Connection, material: Material, build: Build) -> None:
        self.hello = Told(
            device=connection.name, driver=connection.driver, triple=connection.triple
        )
        self.connection = connection
        self.material = material
        self.build = build
        self.loaded: dict[int, Any] = {}
        self.outputs = Outputs(material)
        self.start: dict[int, list[Any]] = {}
        self.work: list[Any] = []
        self.arguments: list[Any] = []

    def load(self, order: Order) -> None:
        """Make a variant ready.  Raises NotLoaded."""
        built = Path(order.file) if order.file else self.build(order.variant)
        self.loaded[order.variant] = self.connection.load(built)

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
        before = interruptions()
        seconds = timer(*self.arguments).results[0]
        clean = not self.connection.in_process or interruptions() == before
        if not self.material.changes_inputs:
            wrong = self._wrong(order)
        return Told(us=seconds * 1e6, clean=clean, wrong=wrong)

    def _reset(self, plan: int) -> None:
        """The arguments as the plan says; its contents are sent once, when they are first used."""
        if plan not in self.start:
            self.start[plan] = self._tensors(plan)
        if not self.work:
            self.work = self._tensors(plan)
            self.arguments = self.material.arrays.arguments(self.work, PLANS[0])
        for start, work in zip(self.start[plan], self.work, strict=True):
            start.copyto(work)
        self.connection.device.sync()

    def _tensors(self, plan: int) -> list[Any]:
        found = []
        contents = self.material.start[plan]
        for param, values in zip(self.material.subject.params, contents, strict=True):
            tensor = tvm.runtime.empty(values.shape, param.dtype, self.connection.device)
            tensor.copyfrom(values)
            found.append(tensor)
        return found

    def _wrong(self, order: Order) -> str:
        outputs: Contents = [
            None if param.role == "in" else np.asarray(work.numpy())
            for param, work in zip(self.material.subject.params, self.work, strict=True)
        ]
        return self.outputs.wrong(order.variant, order.plan, outputs)
