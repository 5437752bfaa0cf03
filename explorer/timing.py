"""Variants timed: from a question about variants to a race, and a race into a comparison."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from explorer import workbench
from explorer.comparison import ORIGINAL, Question, make
from explorer.errors import UserError
from explorer.experiment import Variant
from explorer.model.options import SCHEDULES, with_options
from explorer.model.race import HERE, USUAL, Heat, Method, Race, Row, Where
from explorer.model.race_report import verdict_reports
from explorer.model.report import FunctionReport, Report, TimeReport, VariantReport


def names_of(question: Question) -> tuple[str, ...]:
    """The variants asked about, in order."""
    own = [name for name, _ in (*question.schedules, *question.variants)]
    return (*question.names, *own)


def run_race(
    question: Question,
    where: Where = HERE,
    method: Method = USUAL,
    on_news: Callable[[Race], None] | None = None,
) -> Race:
    """Time every variant of the question; one that can't start is a row with its reason.

    Raises TargetError, LoadError, WorkerDied.
    """
    able, unable = variants_of(question)
    job = workbench.race(
        question.source, able, question.target, question.sizes or {},
        function=question.function, where=where, method=method, on_news=on_news,
    )  # fmt: skip
    return with_absent(job.result(), unable, names_of(question))


def variants_of(question: Question) -> tuple[tuple[Variant, ...], dict[str, str]]:
    """The variants of the question that can start, and why the others can't, by name.

    Raises TargetError.
    """
    target = workbench.resolve(question.target)
    able: list[Variant] = []
    unable: dict[str, str] = {}
    for name in names_of(question):
        given = any(name == own for own, _ in (*question.schedules, *question.variants))
        if target.kind == "llvm" and name != ORIGINAL and not given:
            unable[name] = (
                f"{name} binds loops to GPU threads: it does not apply to llvm. {SCHEDULES} with "
                "parallel and vectorize."
            )
            continue
        try:
            made = make(question, name)
        except UserError as error:
            unable[name] = str(error)
            continue
        if made.strategy and not made.steps:
            said = "; ".join(f"{o.rule}: {o.reason}" for o in made.outcomes if o.reason)
            unable[name] = f"{name} schedules no function of this module. {said}".strip()
            continue
        able.append(Variant(name, made.steps))
    return tuple(able), unable


def with_absent(race: Race, unable: dict[str, str], names: tuple[str, ...]) -> Race:
    """A race with rows for variants that could not start, all rows in the order of `names`."""

    def complete(heat: Heat) -> Heat:
        rows = {row.variant: row for row in heat.rows}
        for name, why in unable.items():
            rows[name] = Row(variant=name, status="not_measured", reason=why)
        libraries = [row.variant for row in heat.rows if row.library]
        return msgspec.structs.replace(
            heat, rows=tuple(rows[name] for name in (*names, *libraries) if name in rows)
        )

    return msgspec.structs.replace(race, heats=tuple(complete(heat) for heat in race.heats))


def with_race(report: Report, race: Race) -> Report:
    """A comparison with the times of a race (of its first device) and all verdicts."""
    return msgspec.structs.replace(
        report,
        variants=tuple(_timed(variant, race) for variant in report.variants),
        verdicts=verdict_reports(race),
    )


def _timed(variant: VariantReport, race: Race) -> VariantReport:
    return msgspec.structs.replace(
        variant,
        functions=tuple(_function(variant.name, each, race) for each in variant.functions),
    )


def _function(variant: str, function: FunctionReport, race: Race) -> FunctionReport:
    heat = next((heat for heat in race.heats if heat.function == function.name), None)
    row = heat.row(variant) if heat is not None else None
    if heat is None or row is None or function.status != "built":
        return function
    time = TimeReport(
        row.status, with_options(row.reason), row.median_us, row.low_us, row.high_us, row.runs,
        heat.place.runner, heat.place.device,
    )  # fmt: skip
    return msgspec.structs.replace(function, time=time)
