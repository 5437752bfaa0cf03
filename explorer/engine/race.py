"""The race: variants of a module timed against each other, on each device, with a verdict."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import msgspec

from explorer.analysis.peaks import gpu
from explorer.analysis.roofline import roofline
from explorer.engine import race_build
from explorer.engine.load import module
from explorer.engine.progress import tell
from explorer.engine.race_build import Starter
from explorer.engine.race_device import OnDevice
from explorer.engine.race_material import Material
from explorer.engine.work import whole_work
from explorer.errors import Refusal, SizeError
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import HERE, USUAL, Heat, Method, Provenance, Race, Row, Where
from explorer.model.target import Target
from explorer.runners import Place, Runner, chosen

LEAST_BUDGET_S = 1.0


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
    shared = sharing(places, target)
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
                pool.submit(
                    OnDevice(runner, place, where, target, method, board.show, shared).run,
                    material, starters,
                )
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


def sharing(places: tuple[Place, ...], target: Target) -> tuple[str, ...]:
    """What to know of times that several servers of one machine gave at the same time."""
    most = max(Counter(place.host for place in places).values(), default=0)
    if most < 2:
        return ()
    what = "cores" if target.kind == "llvm" else "processor, and perhaps a GPU"
    return (
        f"{most} of these servers run on one machine and were timed at the same time: they share "
        f"its {what}, so their times disturb one another",
    )  # fmt: skip


def _shared_out(method: Method, functions: int) -> Method:
    share = max(method.budget_s / max(functions, 1), min(LEAST_BUDGET_S, method.budget_s))
    return msgspec.structs.replace(method, budget_s=share)


def _warning(runner: Runner | Refusal) -> str:
    return "" if isinstance(runner, Refusal) else runner.WARNING
