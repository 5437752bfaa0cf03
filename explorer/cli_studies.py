"""`sweep`, `history` and `ablation`: several races in one command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

import msgspec

from explorer import cli_text, studies
from explorer.cli_inputs import print_json
from explorer.cli_questions import question_of, race_of, variant_of
from explorer.model.race_report import MeasuredTime
from explorer.model.studies import Static
from explorer.model.studies_report import (
    AblationReport,
    HistoryReport,
    SweepReport,
    ablation_report,
    history_report,
    sweep_report,
)
from explorer.timing import names_of, variants_of, with_absent

R = TypeVar("R")


def sweep(options: argparse.Namespace) -> int:
    """Run `sweep`.  Raises SizeError when the module has no such size."""
    question, _ = question_of(options)
    where, method = race_of(options)
    able, unable = variants_of(question)
    name, values = options.over
    found = studies.sweep(
        question.source, able, question.target, question.sizes or {}, name, values,
        function=question.function, where=where, method=method,
    )  # fmt: skip
    names = names_of(question)
    points = tuple(
        msgspec.structs.replace(point, race=with_absent(point.race, unable, names))
        for point in found.points
    )
    found = msgspec.structs.replace(found, points=points)
    return _told(options, sweep_report(question.target, names, found), sweep_text)


def history(options: argparse.Namespace) -> int:
    """Run `history`."""
    experiment, variant = variant_of(options)
    where, method = race_of(options)
    found = studies.history(
        experiment.source, variant.steps, experiment.target, experiment.sizes,
        function=options.func, where=where, method=method,
    )  # fmt: skip
    return _told(options, history_report(experiment.target, variant.name, found), history_text)


def ablation(options: argparse.Namespace) -> int:
    """Run `ablation`."""
    experiment, variant = variant_of(options)
    where, method = race_of(options)
    found = studies.ablation(
        experiment.source, variant.steps, experiment.target, experiment.sizes,
        function=options.func, where=where, method=method,
    )  # fmt: skip
    why = studies.whole_reason(found.race)
    return _told(
        options, ablation_report(experiment.target, variant.name, found, why), ablation_text
    )


def _told(options: argparse.Namespace, report: R, text: Callable[[R], str]) -> int:
    if options.json:
        print_json(msgspec.to_builtins(report))
    else:
        print(text(report))
    return 0


def sweep_text(made: SweepReport) -> str:
    """Who wins at each size, every median, and where a tile leaves something over."""
    rows: list[tuple[str, ...]] = [(made.size, "variant", "median us", "95 % interval", "", "")]
    for point in made.points:
        won = {heat.winner for heat in point.heats}
        for at, variant in enumerate(point.variants):
            rest = "; ".join([
                variant.time.reason, *point.does_not_divide.get(variant.name, ())
            ]).strip("; ")  # fmt: skip
            first = str(point.value) if at == 0 else ""
            fastest = "fastest" if variant.name in won else ""
            rows.append((first, variant.name, *_time(variant.time), fastest, rest))
    place = next((heat.provenance for point in made.points for heat in point.heats), None)
    return "\n".join([cli_text.table(rows), *cli_text.where(place)])


def history_text(made: HistoryReport) -> str:
    """The median after every step, and what it changed."""
    rows: list[tuple[str, ...]] = [("step", "median us", "95 % interval", "change", "")]
    for each in made.steps:
        reason = "" if each.time is None else each.time.reason
        change = each.change.words if each.change is not None else reason
        rows.append((str(each.step), *_time(each.time), change, each.line or "(as it came)"))
    head = f"{made.function} of {made.variant}, target {made.target}"
    return "\n".join([head, cli_text.table(rows), *cli_text.where(made.provenance)])


def ablation_text(made: AblationReport) -> str:
    """What every step is worth, or the compiler's figures without it."""
    head = f"{made.function} of {made.variant}, target {made.target}"
    if made.static is not None:
        rows: list[tuple[str, ...]] = [
            ("without", "registers", "shared bytes", "instructions", "occupancy", "bound us", ""),
            ("nothing", *_static(made.static), ""),
        ]
        rows += [
            (_without(each.step, each.also), *_static(each.static),
             each.line if each.static is not None else f"{each.line}: {each.reason}")
            for each in made.steps
        ]  # fmt: skip
        note = f"Not timed, figures of the compiler. {made.reason}".strip()
        return "\n".join([head, cli_text.table(rows), note])
    rows = [("without", "takes", "whole recipe against that", "")]
    rows += [
        (_without(each.step, each.also), "-" if each.worth is None else f"{each.worth:.2f}x",
         each.words or each.reason, each.line)
        for each in made.steps
    ]  # fmt: skip
    lines = [head, cli_text.table(rows)]
    if made.shortest is not None and made.kept is not None:
        kept = ", ".join(map(str, made.shortest)) or "none"
        lines.append(f"Steps that keep {made.kept:.0%} of the speed: {kept}.")
    return "\n".join([*lines, *cli_text.where(made.provenance)])


def _without(step: int, also: tuple[int, ...]) -> str:
    return ", ".join(map(str, sorted((step, *also))))


def _time(time: MeasuredTime | None) -> tuple[str, str]:
    if time is None or time.median_us is None:
        return "-", ""
    return f"{time.median_us:.2f}", f"{time.low_us:.2f} to {time.high_us:.2f}"


def _static(found: Static | None) -> tuple[str, ...]:
    if found is None:
        return ("-",) * 5
    occupancy = "" if found.occupancy is None else f"{found.occupancy:.0%}"
    bound = "" if found.bound_us is None else f"{found.bound_us:.3g}"
    return (
        str(found.registers), str(found.shared_bytes), str(found.instructions), occupancy, bound,
    )  # fmt: skip
