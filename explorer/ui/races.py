"""Races and studies that a click started: followed while they run, their figures kept by content.

Threads here only wait for workers, which do the timing; a page looks at `Study.latest`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Literal

import msgspec

from explorer import studies, workbench
from explorer.errors import Problem, UserError
from explorer.experiment import Variant
from explorer.model.loaded import Source
from explorer.model.race import HERE, USUAL, Method, Provenance, Race, Row, Where
from explorer.model.studies import Ablation, History, Sweep
from explorer.ui.background import bug
from explorer.worker.client import Job, WorkerBug, noting

Kind = Literal["race", "sweep", "history", "ablation"]
News = Race | Sweep | Ablation
Answer = Race | Sweep | History | Ablation
KEPT = 256
"""Studies, and variants with figures, that are remembered."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What is timed, where and how: everything a figure depends on.

    A sweep has `size` and its `values`; history and ablation are about the only variant.
    """

    source: Source
    variants: tuple[Variant, ...]
    target: str
    sizes: dict[str, int]
    function: str = ""
    where: Where = HERE
    method: Method = USUAL
    size: str = ""
    values: tuple[int, ...] = ()


class Figure(msgspec.Struct, frozen=True):
    """What the last race said of a variant's function on one device."""

    function: str
    row: Row
    place: Provenance


class Study:
    """One race or study.  `latest` is what is known so far, None before the first figure."""

    def __init__(self, kind: Kind, entry: Entry) -> None:
        self.kind = kind
        self.entry = entry
        self.latest: News | None = None
        self.future: Future[Answer] = Future()
        self._jobs: list[Job[Any]] = []
        self._stopped = False
        self._lock = threading.Lock()

    @property
    def active(self) -> bool:
        """It still runs."""
        return not self.future.done()

    @property
    def cancelled(self) -> bool:
        """The user stopped it."""
        return self._stopped

    @property
    def answer(self) -> Answer | None:
        """What it came to; None while it runs and when it failed or was cancelled."""
        if self.active or self._stopped or self.problem is not None:
            return None
        return self.future.result()

    @property
    def problem(self) -> Problem | None:
        """Why it failed, or None.  A bug on this side is raised."""
        if self.active or self._stopped:
            return None
        error = self.future.exception()
        if error is None:
            return None
        if isinstance(error, UserError):
            return error.problem
        if isinstance(error, WorkerBug):
            return bug(error)
        raise error

    def cancel(self) -> None:
        """Stop it and what it has begun; what is known so far stays."""
        with self._lock:
            if self.future.done():
                return
            self._stopped = True
            jobs = list(self._jobs)
        for job in jobs:
            job.cancel()

    def run(self) -> Answer:
        """Ask and wait.  Raises UserError subclasses, and CancelledError once it was stopped."""
        with noting(self._begun):
            return VERBS[self.kind](self.entry, self._news)

    def _begun(self, job: Job[Any]) -> None:
        with self._lock:
            self._jobs = [each for each in self._jobs if not each.done()] + [job]
            stopped = self._stopped
        if stopped:
            job.cancel()

    def _news(self, news: News) -> None:
        if self._stopped:
            if isinstance(news, Ablation):  # asked for on this side: nobody else would stop it
                raise CancelledError
            return
        self.latest = news


class Races:
    """The last study of each kind of every browser tab, and figures by variant, for all tabs."""

    def __init__(self) -> None:
        self._studies: OrderedDict[tuple[str, Kind], Study] = OrderedDict()
        self._figures: OrderedDict[bytes, dict[tuple[str, str, str], Figure]] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, tab: str, kind: Kind, entry: Entry) -> Study:
        """Begin a study in place of the tab's last one of that kind, which is cancelled."""
        study = Study(kind, entry)
        with self._lock:
            before = self._studies.pop((tab, kind), None)
            self._studies[tab, kind] = study
            while len(self._studies) > KEPT:
                self._studies.popitem(last=False)
        if before is not None:
            before.cancel()
        # A thread of a pool would keep a server that was told to stop waiting for the race.
        threading.Thread(target=self._run, args=(study,), name=kind, daemon=True).start()
        return study

    def of(self, tab: str, kind: Kind) -> Study | None:
        """The tab's last study of that kind."""
        return self._studies.get((tab, kind))

    def figures(
        self, source: Source, variant: Variant, target: str, sizes: dict[str, int]
    ) -> tuple[Figure, ...]:
        """What races said last of exactly this, by function and device; empty when none did.

        The same steps under another name count, too, unless this name was raced itself.
        """
        with self._lock:
            kept = self._figures.get(_key(source, variant, target, sizes), {})
            own = [figure for key, figure in kept.items() if key[2] == variant.name]
            return tuple(own) or tuple({key[:2]: f for key, f in kept.items()}.values())

    def remember(self, entry: Entry, race: Race) -> None:
        """Keep the figures of a race that ended; a figure is not replaced by a reason."""
        with self._lock:
            for variant in entry.variants:
                key = _key(entry.source, variant, entry.target, entry.sizes)
                kept = self._figures.setdefault(key, {})
                for heat in race.heats:
                    row = heat.row(variant.name)
                    at = (heat.function, heat.place.device, variant.name)
                    if row is not None and (row.status == "measured" or at not in kept):
                        kept[at] = Figure(heat.function, row, heat.place)
                self._figures.move_to_end(key)
            while len(self._figures) > KEPT:
                self._figures.popitem(last=False)

    def _run(self, study: Study) -> None:
        try:
            answer = study.run()
        except (UserError, WorkerBug, CancelledError) as error:
            study.future.set_exception(error)
        except BaseException as error:
            study.future.set_exception(error)  # a bug of ours: the page raises it, too
            raise
        else:
            if isinstance(answer, Race):
                self.remember(study.entry, answer)
            study.future.set_result(answer)


def bounds(entry: Entry) -> Race:
    """A race that can't run: every row with its reason, and the bound where one is known."""
    return _race(entry, None)


def _key(source: Source, variant: Variant, target: str, sizes: dict[str, int]) -> bytes:
    return msgspec.json.encode((source, variant.steps, target, sorted(sizes.items())))


def _race(entry: Entry, on_news: Callable[[Race], None] | None) -> Race:
    return workbench.race(
        entry.source, entry.variants, entry.target, entry.sizes, function=entry.function,
        where=entry.where, method=entry.method, on_news=on_news,
    ).result()  # fmt: skip


def _sweep(entry: Entry, on_news: Callable[[News], None]) -> Sweep:
    return studies.sweep(
        entry.source, entry.variants, entry.target, entry.sizes, entry.size, entry.values,
        function=entry.function, where=entry.where, method=entry.method, on_news=on_news,
    )  # fmt: skip


def _history(entry: Entry, on_news: Callable[[News], None]) -> History:
    return studies.history(
        entry.source, entry.variants[0].steps, entry.target, entry.sizes,
        function=entry.function, where=entry.where, method=entry.method, on_news=on_news,
    )  # fmt: skip


def _ablation(entry: Entry, on_news: Callable[[News], None]) -> Ablation:
    return studies.ablation(
        entry.source, entry.variants[0].steps, entry.target, entry.sizes,
        function=entry.function, where=entry.where, method=entry.method, on_news=on_news,
    )  # fmt: skip


VERBS: dict[Kind, Callable[[Entry, Callable[[News], None]], Answer]] = {
    "race": _race, "sweep": _sweep, "history": _history, "ablation": _ablation,
}  # fmt: skip
