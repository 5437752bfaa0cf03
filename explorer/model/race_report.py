"""What `time --json` prints: a race as plain data with fixed names."""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.model.options import with_options
from explorer.model.race import Heat, Provenance, Race, Roof, Row, Verdict
from explorer.model.report import CheckReport


class MeasuredTime(msgspec.Struct, frozen=True, kw_only=True):
    """One variant's function on one device.  Numbers are null where nothing was measured."""

    function: str
    status: Literal["measured", "not_measured"]
    reason: str
    median_us: float | None
    low_us: float | None
    high_us: float | None
    runs: int
    runner: str
    device: str
    spread: float | None
    gflops: float | None
    gbs: float | None
    bound_us: float | None
    bound_share: float | None
    check: CheckReport
    library: str = ""


class TimedVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant: `times` are all it was timed for, `time` the first of them that was measured.

    Baselines of libraries come after the variants; their times name the `library`.
    """

    name: str
    time: MeasuredTime
    times: tuple[MeasuredTime, ...]


class PlacedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and which function on which device it is about."""

    function: str
    device: str
    variant: str
    other: str
    outcome: str
    ratio: float
    low: float
    high: float
    words: str


class HeatReport(msgspec.Struct, frozen=True, kw_only=True):
    """One function on one device: how it was measured and who won ("" for nobody).

    `roof` is what the bounds are made of, null where none is known.
    """

    function: str
    winner: str
    lost: str
    provenance: Provenance
    roof: Roof | None = None
    no_baseline: tuple[str, ...] = ()


class TimingReport(msgspec.Struct, frozen=True, kw_only=True):
    """All variants of a module, timed."""

    target: str
    warning: str
    variants: tuple[TimedVariant, ...]
    verdicts: tuple[PlacedVerdict, ...]
    heats: tuple[HeatReport, ...]


def timing_report(target: str, names: tuple[str, ...], race: Race) -> TimingReport:
    """A race as it is reported, variants in the order of `names`, then libraries."""
    libraries = {row.variant: None for heat in race.heats for row in heat.rows if row.library}
    names = (*names, *(name for name in libraries if name not in names))
    return TimingReport(
        target=target,
        warning=race.warning,
        variants=tuple(_variant(name, race) for name in names),
        verdicts=verdict_reports(race),
        heats=tuple(
            HeatReport(
                function=heat.function, winner=heat.winner, lost=heat.lost,
                provenance=heat.place, roof=heat.roof, no_baseline=heat.no_baseline,
            )
            for heat in race.heats
        ),
    )  # fmt: skip


def verdict_reports(race: Race) -> tuple[PlacedVerdict, ...]:
    """Every verdict of a race with its place."""
    return tuple(_verdict(heat, each) for heat in race.heats for each in heat.verdicts)


def _variant(name: str, race: Race) -> TimedVariant:
    times = tuple(
        measured_time(heat, row) for heat in race.heats for row in heat.rows if row.variant == name
    )
    none = MeasuredTime(
        function="", status="not_measured", reason="No function of the module is timed.",
        median_us=None, low_us=None, high_us=None, runs=0, runner="", device="", spread=None,
        gflops=None, gbs=None, bound_us=None, bound_share=None,
        check=CheckReport("not_checked", "Nothing was run."),
    )  # fmt: skip
    first = next((time for time in times if time.status == "measured"), None)
    return TimedVariant(name=name, time=first or next(iter(times), none), times=times)


def measured_time(heat: Heat, row: Row) -> MeasuredTime:
    """A row with its place."""
    return MeasuredTime(
        function=heat.function, status=row.status, reason=with_options(row.reason),
        median_us=row.median_us, low_us=row.low_us, high_us=row.high_us, runs=row.runs,
        runner=heat.place.runner, device=heat.place.device, spread=row.spread,
        gflops=row.gflops, gbs=row.gbs, bound_us=row.bound_us, bound_share=row.bound_share,
        check=CheckReport(row.check.status, row.check.detail), library=row.library,
    )  # fmt: skip


def _verdict(heat: Heat, each: Verdict) -> PlacedVerdict:
    return PlacedVerdict(
        function=heat.function, device=heat.place.device, variant=each.variant, other=each.other,
        outcome=each.outcome, ratio=each.ratio, low=each.low, high=each.high, words=each.words,
    )  # fmt: skip
