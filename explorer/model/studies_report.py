"""What `sweep`, `history` and `ablation` print with --json: plain data with fixed names."""

from __future__ import annotations

import msgspec

from explorer.model.options import with_options
from explorer.model.race import Heat, Provenance, Race, Verdict
from explorer.model.race_report import (
    HeatReport,
    MeasuredTime,
    PlacedVerdict,
    TimedVariant,
    measured_time,
    timing_report,
)
from explorer.model.studies import Ablation, History, Static, Sweep


class PointReport(msgspec.Struct, frozen=True, kw_only=True):
    """All variants at one size.  `does_not_divide` says by variant what a tile leaves over."""

    value: int
    sizes: dict[str, int]
    variants: tuple[TimedVariant, ...]
    verdicts: tuple[PlacedVerdict, ...]
    heats: tuple[HeatReport, ...]
    does_not_divide: dict[str, tuple[str, ...]]


class SweepReport(msgspec.Struct, frozen=True, kw_only=True):
    """Variants over a size; `size` is a symbol, or the number of the text that was replaced."""

    target: str
    size: str
    points: tuple[PointReport, ...]


class StepReport(msgspec.Struct, frozen=True, kw_only=True):
    """The recipe after step `step` (0: as it came); `change` against the step before, or null."""

    step: int
    line: str
    time: MeasuredTime | None
    change: Verdict | None


class HistoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """What each step changed, on the first device."""

    target: str
    variant: str
    function: str
    steps: tuple[StepReport, ...]
    provenance: Provenance | None


class WorthReport(msgspec.Struct, frozen=True, kw_only=True):
    """The recipe without step `step` (1-based), and without those of `also`.

    `worth` is how many times longer it takes then, `low` to `high` its 99 % interval; null where
    `reason` says why.  `static` is of the compiler, where nothing could be timed.
    """

    step: int
    line: str
    also: tuple[int, ...]
    worth: float | None
    low: float | None
    high: float | None
    words: str
    reason: str
    static: Static | None


class AblationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What each step is worth; `shortest` are the steps (1-based) that keep `kept` of the speed."""

    target: str
    variant: str
    function: str
    steps: tuple[WorthReport, ...]
    shortest: tuple[int, ...] | None
    kept: float | None
    static: Static | None
    provenance: Provenance | None
    reason: str
    """Why the whole recipe has no time, "" when it has one."""


def sweep_report(target: str, names: tuple[str, ...], found: Sweep) -> SweepReport:
    """A sweep as it is reported, variants in the order of `names`."""
    points = []
    for point in found.points:
        made = timing_report(target, names, point.race)
        points.append(
            PointReport(
                value=point.value, sizes=point.sizes, variants=made.variants,
                verdicts=made.verdicts, heats=made.heats, does_not_divide=point.remainders,
            )
        )  # fmt: skip
    return SweepReport(target=target, size=found.name, points=tuple(points))


def history_report(target: str, variant: str, found: History) -> HistoryReport:
    """A history as it is reported."""
    heat = _heat(found.race, found.function)
    steps = []
    for each in found.steps:
        row = heat.row(str(each.step)) if heat is not None else None
        time = None if heat is None or row is None else measured_time(heat, row)
        steps.append(StepReport(step=each.step, line=each.line, time=time, change=each.change))
    return HistoryReport(
        target=target, variant=variant, function=found.function, steps=tuple(steps),
        provenance=None if heat is None else heat.place,
    )  # fmt: skip


def ablation_report(target: str, variant: str, found: Ablation, reason: str) -> AblationReport:
    """An ablation as it is reported; `reason` is why the whole recipe has no time."""
    heat = _heat(found.race, found.function)
    return AblationReport(
        target=target, variant=variant, function=found.function, kept=found.kept,
        shortest=None if found.shortest is None else tuple(at + 1 for at in found.shortest),
        static=found.static, provenance=None if heat is None else heat.place,
        reason=with_options(reason),
        steps=tuple(
            WorthReport(
                step=each.step + 1, line=each.line, also=tuple(at + 1 for at in each.also),
                worth=each.worth, low=each.verdict.low if each.verdict else None,
                high=each.verdict.high if each.verdict else None,
                words=each.verdict.words if each.verdict else "", reason=with_options(each.reason),
                static=each.static,
            )
            for each in found.steps
        ),
    )  # fmt: skip


def _heat(race: Race, function: str) -> Heat | None:
    """The heat that a study is about: as studies choose it, the first that measured something."""
    heats = [heat for heat in race.heats if heat.function == function]
    measured = (heat for heat in heats if any(row.status == "measured" for row in heat.rows))
    return next(measured, next(iter(heats), None))
