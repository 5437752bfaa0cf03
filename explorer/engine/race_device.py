"""The heats of one device: connected, raced, lost perhaps; always put up with a reason."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import tvm_ffi

from explorer.analysis.peaks import Gpu, gpu
from explorer.analysis.roofline import roofline
from explorer.baselines import Processor
from explorer.engine import cpu_peaks, device_lock, race_build
from explorer.engine.failures import last_line
from explorer.engine.isolate import forking
from explorer.engine.lower import LOWERING_ERRORS
from explorer.engine.operation import NoEquivalent
from explorer.engine.race_build import Starter
from explorer.engine.race_heat import Entry, HeatRun, Known, Track
from explorer.engine.race_lane import HELLO_S, Gone, Lane
from explorer.engine.race_library import library, offers
from explorer.engine.race_line import NotLoaded
from explorer.engine.race_material import Material
from explorer.engine.race_track import track
from explorer.engine.work import whole_work
from explorer.model.options import TRIPLE
from explorer.model.race import Heat, Method, Provenance, Row, Where
from explorer.model.target import Target
from explorer.race.bound import bound_of
from explorer.runners import Place, Runner
from explorer.runners.local_cuda import state

LOCK_WAIT_S = 120.0
"""Another race on the device is waited for so long; the wait does not count as timing."""
AGAIN_S = 15.0
"""A device that broke down gets so long to answer again."""

Show = Callable[[str, str, Heat], None]
"""Puts up the heat of a function at a place."""


class OnDevice:
    """The heats of one device.  `notes` is what is known of it beforehand."""

    def __init__(
        self, runner: Runner, place: Place, where: Where, target: Target, method: Method,
        show: Show, notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.runner, self.place, self.where = runner, place, where
        self.target, self.method, self.show, self.notes = target, method, show, notes
        self.session_s = 10 * method.budget_s + 120
        """After this a server ends the session by itself."""

    def run(self, material: Material, starters: list[Starter]) -> None:
        """One function: its heat is put up, whatever happens."""
        starters = [Starter(each.name, each.mod, each.reason, each.state) for each in starters]
        try:
            if self.place.lock:
                with device_lock.locked(self.place.lock, LOCK_WAIT_S):
                    heat = self._heat(material, starters)
            else:
                heat = self._heat(material, starters)
        except device_lock.Busy:
            why = f"Another race used {self.place.name} for over {LOCK_WAIT_S:.0f} s."
            self._nothing(material, starters, why, "")
            return
        except Gone as gone:
            device = gone.device or self.place.name
            if not device_lock.quarantined(device):
                self._lose(device, str(gone))
            why = f"{device} can't be used: {str(gone).rstrip('.')}."
            self._nothing(material, starters, why, str(gone), device)
            return
        if heat.lost:
            self._lose(heat.place.device, heat.lost)
        else:
            device_lock.release(heat.place.device)
        self.show(material.name, self.place.name, heat)

    def _heat(self, material: Material, starters: list[Starter]) -> Heat:
        with tempfile.TemporaryDirectory() as folder:
            return self._raced(material, starters, Path(folder))

    def _raced(self, material: Material, starters: list[Starter], folder: Path) -> Heat:
        """Connect, then build and race one variant after another.  Raises Gone."""
        ours = Track(partial(self._open, material, starters, ""), Lane.load)
        ours.lane = lane = ours.open()
        ours.open = partial(self._open, material, starters, lane.device)
        if self.runner.NAME == "rpc":
            try:
                ours.load = self._sender(starters, material.name, lane, folder)
            except Gone:
                lane.close()
                raise
        entries = [
            Entry(at, each.name, ours, reason=each.reason) for at, each in enumerate(starters)
        ]
        missing = self._baselines(material, entries) if self.method.baselines else ()
        heat = HeatRun(
            material=material,
            entries=entries,
            method=self.method,
            place=self._provenance(material, lane.hello.device, lane.hello.driver),
            show=lambda heat: self.show(material.name, self.place.name, heat),
            known=lambda: self._known(material, lane.hello.device),
        ).run()
        if heat.roof is not None and heat.roof.measured and any(map(_beyond, heat.rows)):
            cpu_peaks.doubt()
        return msgspec.structs.replace(
            heat, place=self._with_state(heat.place), no_baseline=missing
        )  # fmt: skip

    def _open(self, material: Material, starters: list[Starter], again: str) -> Lane:
        """A process on the device; `again` is the one that it must be, by name.  Raises Gone."""

        def allow(device: str) -> str:
            if again and device != again:
                return "it did not come back"
            return "" if self.where.again or again else device_lock.quarantined(device)

        def build(at: int) -> Any:
            return race_build.compile_for(starters[at], material.name, self.target)

        make = track(self.runner, self.place, self.where, self.session_s, material, build)
        return Lane(make, allow=allow, hello_s=AGAIN_S if again else HELLO_S)

    def _sender(
        self, starters: list[Starter], function: str, lane: Lane, folder: Path
    ) -> Callable[[Lane, int], None]:
        """Builds a variant for the server's processor and sends it there.  Raises Gone."""
        own = str(tvm_ffi.get_global_func("target.llvm_get_system_triple")())
        triple = self.where.host_triple or lane.hello.triple
        if not triple:
            raise Gone(
                "the server can't tell its processor (its TVM has no LLVM), so the host code can't"
                f" be built for it: {TRIPLE}, e.g. aarch64-linux-gnu"
            )
        link = race_build.can_link(triple, own)
        files: dict[int, str] = {}

        def send(lane: Lane, at: int) -> None:
            if at not in files:
                with forking:
                    other = "" if triple == own else triple
                    built = race_build.compile_for(starters[at], function, self.target, other)
                    try:
                        files[at] = str(race_build.export(built, folder, f"v{at}", link=link))
                    except LOWERING_ERRORS as failure:
                        why = f"It can't be exported: {last_line(str(failure))}"
                        raise NotLoaded(why) from None
            lane.load(at, files[at])

        return send

    def _baselines(self, material: Material, entries: list[Entry]) -> tuple[str, ...]:
        """Add an entry for each library that may do the same; why there is none, else."""
        if self.runner.NAME == "rpc":
            return ("Libraries are raced on this machine only, not on a remote device.",)
        processor: Processor = "cuda" if self.place.cuda else "cpu"
        try:
            operation, found = offers(material, processor)
        except NoEquivalent as why:
            return (str(why),)
        taken = {entry.name for entry in entries}
        for each in found:
            make = library(each, operation, processor, self.place.number, material)
            name = f"{each.LABEL} {operation.name}"
            name += " (library)" * (name in taken)
            alone = Track(partial(Lane, make), Lane.load)
            entries.append(Entry(len(entries), name, alone, library=each.LABEL))
        return ()

    def _known(self, material: Material, device: str) -> Known:
        """The work, and the roofline of the device where its peaks are known."""
        work = whole_work(material.original[material.name], material.name, material.sizes)
        if self.target.kind == "llvm":
            if self.runner.NAME != "llvm":
                return Known(work)
            return Known(work, cpu_peaks.bound(work, material, self.method.cache, device))
        card = _card(device) or gpu(self.target.tag)
        if card is None:
            return Known(work)
        line = roofline(work, card)
        return Known(work, bound_of(line, self.method.cache, self.target.l2_cache_size_bytes))

    def _provenance(self, material: Material, device: str, driver: str) -> Provenance:
        return Provenance(
            runner=self.runner.NAME, device=device, driver=driver, tvm=version("apache-tvm"),
            target=self.target.tag, sizes=material.sizes, method=described(self.method),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            notes=(*self.notes, *self._state()),
        )  # fmt: skip

    def _state(self) -> tuple[str, ...]:
        if self.runner.NAME == "local_cuda":
            return state(self.place.number)
        if self.runner.NAME == "llvm":
            cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
            notes = []
            if load > cores / 2:
                notes.append(f"this machine is busy: {load:.1f} processes want its {cores} cores")
            if self.method.baselines:
                notes.append(
                    "libraries use all instructions of this processor; code for the target llvm is "
                    f"for any {platform.machine()} processor"
                )
            return tuple(notes)
        return ()

    def _with_state(self, place: Provenance) -> Provenance:
        """With what became of clock and temperature by the end."""
        if self.runner.NAME != "local_cuda":
            return place
        notes = (*(f"before: {note}" for note in place.notes),
                 *(f"after: {note}" for note in self._state()))  # fmt: skip
        return msgspec.structs.replace(place, notes=notes)

    def _lose(self, device: str, why: str) -> None:
        if self.runner.NAME == "rpc":
            device_lock.quarantine(device, why)

    def _nothing(
        self, material: Material, starters: list[Starter], why: str, lost: str, device: str = ""
    ) -> None:
        rows = tuple(
            Row(variant=each.name, status="not_measured", reason=each.reason or why)
            for each in starters
        )
        place = self._provenance(material, device or self.place.name, "")
        self.show(
            material.name, self.place.name,
            Heat(function=material.name, place=place, rows=rows, lost=lost),
        )  # fmt: skip


def described(method: Method) -> str:
    """The method in words."""
    cache = "warm cache" if method.cache == "warm" else "cache emptied before each call"
    return (
        "warm-up, then all variants in rounds in changing order, inputs fresh in each turn, "
        f"{cache}, outputs compared each round; median of the rounds with a 95 % block-bootstrap "
        f"interval; until every interval is ±1 % or {method.budget_s:g} s; verdicts from paired "
        "rounds (99 %), differences under 2 % are not called"
    )


def _card(device: str) -> Gpu | None:
    """The GPU that a device's name means."""
    name = device.partition(" (")[0].partition(" at ")[0]
    return gpu(name.lower().removeprefix("nvidia ").replace(" ", "-"))


def _beyond(row: Row) -> bool:
    """It is faster than its bound."""
    return bool(row.median_us and row.bound_us and row.median_us < row.bound_us)
