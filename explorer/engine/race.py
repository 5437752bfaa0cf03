"""The race: variants of a module timed against each other, on each device, with a verdict."""

from __future__ import annotations

import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import tvm_ffi

from explorer.analysis.peaks import Gpu, gpu
from explorer.analysis.roofline import roofline
from explorer.engine import device_lock, race_build
from explorer.engine.failures import last_line
from explorer.engine.load import module
from explorer.engine.lower import LOWERING_ERRORS
from explorer.engine.progress import tell
from explorer.engine.race_build import Starter
from explorer.engine.race_heat import Entry, HeatRun, Track
from explorer.engine.race_lane import HELLO_S, Gone, Lane
from explorer.engine.race_material import Material
from explorer.engine.work import whole_work
from explorer.errors import Refusal, SizeError
from explorer.experiment import Variant
from explorer.model.analysis import Work
from explorer.model.loaded import Source
from explorer.model.race import HERE, USUAL, Heat, Method, Provenance, Race, Row, Where
from explorer.model.target import Target
from explorer.runners import Place, Runner, chosen
from explorer.runners.local_cuda import state

LOCK_WAIT_S = 120.0
"""Another race on the device is waited for so long; the wait does not count as timing."""
LEAST_BUDGET_S = 1.0
AGAIN_S = 15.0
"""A device that broke down gets so long to answer again."""


def race(
    source: Source,
    variants: tuple[Variant, ...],
    target: Target,
    sizes: dict[str, int],
    function: str = "",
    where: Where = HERE,
    method: Method = USUAL,
) -> Race:
    """Time the variants of every function (or of `function`) on every device of `where`.

    Never raises for what a variant or a device does: its rows say so.  Raises LoadError.
    Intermediate races are told (see `progress`) while it runs.
    """
    original = module(source)
    started = race_build.starters(source, variants, target, sizes, function)
    runner = chosen(where, target)
    places = runner if isinstance(runner, Refusal) else runner.places(where, target)
    if isinstance(runner, Refusal) or isinstance(places, Refusal):
        why = runner if isinstance(runner, Refusal) else places
        assert isinstance(why, Refusal)
        heats = tuple(
            _nowhere(original, name, starters, target, sizes, where, why.sentence())
            for name, starters in started.items()
        )
        return Race(heats=heats, warning=_warning(runner))
    method = _shared_out(method, len(started))
    board = _Board([(name, place.name) for name in started for place in places], _warning(runner))
    # Devices side by side, functions on each one after another.
    with ThreadPoolExecutor(len(places), thread_name_prefix="device") as pool:
        for name, starters in started.items():
            try:
                material = Material(original, name, sizes)
            except SizeError as refused:
                for place in places:
                    board.show(
                        name, place.name,
                        _nowhere(original, name, starters, target, sizes, where, str(refused)),
                    )  # fmt: skip
                continue
            if material.needs_reference_first:
                material.make_reference()
            jobs = [
                pool.submit(_OnDevice(runner, place, where, target, method, board).run, material,
                            starters)
                for place in places
            ]  # fmt: skip
            for job in jobs:
                job.result()
    return board.race(final=True)


class _Board:
    """All heats, as far as they have come."""

    def __init__(self, order: list[tuple[str, str]], warning: str) -> None:
        self._order, self._warning = order, warning
        self._heats: dict[tuple[str, str], Heat] = {}
        self._lock = threading.Lock()

    def show(self, function: str, place: str, heat: Heat) -> None:
        """Put a heat up and tell everybody."""
        with self._lock:
            self._heats[function, place] = heat
            tell(self.race(final=False))

    def race(self, *, final: bool) -> Race:
        """The whole race."""
        heats = tuple(self._heats[key] for key in self._order if key in self._heats)
        return Race(heats=heats, warning=self._warning, final=final)


class _OnDevice:
    """The heats of one device."""

    def __init__(
        self, runner: Runner, place: Place, where: Where, target: Target, method: Method,
        board: _Board,
    ) -> None:  # fmt: skip
        self.runner, self.place, self.where = runner, place, where
        self.target, self.method, self.board = target, method, board
        self.session_s = 10 * method.budget_s + 120
        """After this a server ends the session by itself."""

    def run(self, material: Material, starters: list[Starter]) -> None:
        """One function: its heat is put up, whatever happens."""
        starters = [Starter(each.name, each.mod, each.reason) for each in starters]
        try:
            if self.place.lock:
                with device_lock.locked(self.place.lock, LOCK_WAIT_S):
                    heat = self._heat(material, starters)
            else:
                heat = self._heat(material, starters)
        except device_lock.Busy:
            why = f"Another race used {self.place.name} for over {LOCK_WAIT_S:.0f} s."
            self._show(material, starters, why, "")
            return
        except Gone as gone:
            device = gone.device or self.place.name
            if not device_lock.quarantined(device):
                self._lose(device, str(gone))
            why = f"{device} can't be used: {str(gone).rstrip('.')}."
            self._show(material, starters, why, str(gone), device)
            return
        if heat.lost:
            self._lose(heat.place.device, heat.lost)
        else:
            device_lock.release(heat.place.device)
        self.board.show(material.name, self.place.name, heat)

    def _heat(self, material: Material, starters: list[Starter]) -> Heat:
        with tempfile.TemporaryDirectory() as folder:
            return self._raced(material, starters, Path(folder))

    def _raced(self, material: Material, starters: list[Starter], folder: Path) -> Heat:
        """Connect, build for what answered, race.  Raises Gone."""
        remote = self.runner.NAME == "rpc"
        modules: dict[int, Any] = {}
        files: dict[int, str] = {}
        if not remote:
            self._build(starters, material.name, "", modules)

        def track(again: str = "") -> Lane:
            """A process on the device; `again` is the one that it must be, by name."""

            def allow(device: str) -> str:
                if again and device != again:
                    return "it did not come back"
                return "" if self.where.again or again else device_lock.quarantined(device)

            return Lane(
                self.runner, self.place, self.where, self.session_s, material, modules,
                allow=allow, hello_s=AGAIN_S if again else HELLO_S,
            )  # fmt: skip

        lane = track()
        if remote:
            try:
                self._build_remote(starters, material.name, lane, folder, files)
            except Gone:
                lane.close()
                raise
        entries = [Entry(at, each.name, reason=each.reason) for at, each in enumerate(starters)]
        work, card = self._work(material, lane.hello.device)
        heat = HeatRun(
            material=material,
            entries=entries,
            track=Track(partial(track, lane.device), lambda lane, at: lane.load(at, files.get(at))),
            method=self.method,
            place=self._provenance(material, lane.hello.device, lane.hello.driver),
            work=work,
            bound=None if work is None or card is None else roofline(work, card),
            l2_bytes=self.target.l2_cache_size_bytes,
            show=lambda heat: self.board.show(material.name, self.place.name, heat),
        ).run(lane)
        return msgspec.structs.replace(heat, place=self._with_state(heat.place))

    def _build(
        self, starters: list[Starter], function: str, triple: str, modules: dict[int, Any]
    ) -> None:
        for at, starter in enumerate(starters):
            if starter.mod is not None and not starter.reason:
                built = race_build.compile_for(starter, function, self.target, triple)
                if built is not None:
                    modules[at] = built

    def _build_remote(
        self, starters: list[Starter], function: str, lane: Lane, folder: Path,
        files: dict[int, str],
    ) -> None:  # fmt: skip
        """For the server's own processor, which it or the user names.  Raises Gone."""
        own = str(tvm_ffi.get_global_func("target.llvm_get_system_triple")())
        triple = self.where.host_triple or lane.hello.triple
        if not triple:
            raise Gone(
                "the server can't tell its processor (its TVM has no LLVM), so the host code can't"
                " be built for it: give its LLVM triple (--host-triple aarch64-linux-gnu)"
            )
        modules: dict[int, Any] = {}
        self._build(starters, function, "" if triple == own else triple, modules)
        link = race_build.can_link(triple, own)
        for at, built in modules.items():
            try:
                name = f"v{at}"
                files[at] = str(race_build.export(built, folder, name, link=link))
            except LOWERING_ERRORS as failure:
                starters[at].reason = f"It can't be exported: {last_line(str(failure))}"

    def _work(self, material: Material, device: str) -> tuple[Work | None, Gpu | None]:
        work = whole_work(material.original[material.name], material.name, material.sizes)
        name = device.partition(" (")[0].partition(" at ")[0]
        card = gpu(name.lower().removeprefix("nvidia ").replace(" ", "-"))
        if self.target.kind == "cuda" and card is None:
            card = gpu(self.target.tag)
        return work, card if self.target.kind == "cuda" else None

    def _provenance(self, material: Material, device: str, driver: str) -> Provenance:
        return Provenance(
            runner=self.runner.NAME, device=device, driver=driver, tvm=version("apache-tvm"),
            target=self.target.tag, sizes=material.sizes, method=described(self.method),
            date=datetime.now(UTC).isoformat(timespec="seconds"), notes=self._notes(),
        )  # fmt: skip

    def _notes(self) -> tuple[str, ...]:
        if self.runner.NAME == "local_cuda":
            return state(self.place.number)
        if self.runner.NAME == "llvm":
            cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
            if load > cores / 2:
                busy = f"this machine is busy: {load:.1f} processes want its {cores} cores"
                return (busy,)
        return ()

    def _with_state(self, place: Provenance) -> Provenance:
        """With what became of clock and temperature by the end."""
        if self.runner.NAME != "local_cuda":
            return place
        notes = (*(f"before: {note}" for note in place.notes),
                 *(f"after: {note}" for note in self._notes()))  # fmt: skip
        return msgspec.structs.replace(place, notes=notes)

    def _lose(self, device: str, why: str) -> None:
        if self.runner.NAME == "rpc":
            device_lock.quarantine(device, why)

    def _show(
        self, material: Material, starters: list[Starter], why: str, lost: str, device: str = ""
    ) -> None:
        rows = tuple(_row(each, why, None) for each in starters)
        place = self._provenance(material, device or self.place.name, "")
        self.board.show(
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


def _nowhere(
    original: Any, name: str, starters: list[Starter], target: Target, sizes: dict[str, int],
    where: Where, why: str,
) -> Heat:  # fmt: skip
    """A heat that could not be run: rows with the reason, and the roofline bound where known."""
    bound_us = None
    card = gpu(target.tag) if target.kind == "cuda" else None
    if card is not None and name in {var.name_hint for var, _ in original.functions_items()}:
        work = whole_work(original[name], name, sizes)
        if work.flops or work.read_bytes:
            bound_us = roofline(work, card).bound_us
    place = Provenance(
        runner=where.runner, device="", tvm=version("apache-tvm"), target=target.tag, sizes=sizes,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    rows = tuple(_row(each, why, bound_us) for each in starters)
    return Heat(function=name, place=place, rows=rows)


def _row(starter: Starter, why: str, bound_us: float | None) -> Row:
    return Row(
        variant=starter.name, status="not_measured", reason=starter.reason or why,
        bound_us=bound_us,
    )  # fmt: skip


def _shared_out(method: Method, functions: int) -> Method:
    share = max(method.budget_s / max(functions, 1), min(LEAST_BUDGET_S, method.budget_s))
    return msgspec.structs.replace(method, budget_s=share)


def _warning(runner: Runner | Refusal) -> str:
    return "" if isinstance(runner, Refusal) else runner.WARNING
