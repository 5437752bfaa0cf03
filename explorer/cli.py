"""The same verbs by command, for scripts and CI: open, compare, time, export, doctor,
sweep, history, ablation, tune, records.

Exit code 0 when the question was answered, 1 when the text can't be loaded or the file can't be
made, 2 for wrong usage.  With `--json` an error is `{"error": {...}}` on standard output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from explorer import cli_text, error_texts, workbench
from explorer.bind_doctor import diagnose
from explorer.cli_inputs import Usage, experiment_of, print_json, sizes_of, write_export
from explorer.cli_options import make_parser
from explorer.cli_questions import question_of, race_of, variant_of
from explorer.cli_records import records
from explorer.cli_studies import ablation, history, sweep
from explorer.cli_tune import tune
from explorer.comparison import compare
from explorer.errors import ForbiddenText, LoadError, TargetError, UserError
from explorer.model.diagnosis import Diagnosis
from explorer.model.options import with_options
from explorer.model.race_report import timing_report
from explorer.timing import names_of, run_race, with_race
from explorer.worker.client import WorkerBug


def main(argv: list[str] | None = None) -> int:
    """Answer one command; returns the exit code."""
    parser = make_parser({
        "open": _open, "compare": _compare, "time": _time, "export": _export, "doctor": _doctor,
        "sweep": sweep, "history": history, "ablation": ablation, "tune": tune, "records": records,
    })  # fmt: skip
    options = parser.parse_args(argv)
    try:
        return int(options.run(options))
    except Usage as wrong:
        parser.error(str(wrong))
    except UserError as error:
        return _failed(error, options.json, getattr(options, "lines", False))
    except WorkerBug as bug:
        print(f"This is a bug of the program, please report it:\n{bug}", file=sys.stderr)
        last = str(bug).strip().splitlines()[-1]
        failure = UserError("This is a bug of the program.", last, "Please report it.")
        return _failed(failure, options.json) if options.json else 1


def _failed(error: UserError, as_json: bool, lines: bool = False) -> int:
    problem = msgspec.structs.replace(error.problem, do=with_options(error.problem.do))
    if as_json:
        shown = {
            "what": problem.what, "why": problem.why, "do": problem.do, "line": problem.line,
        }  # fmt: skip
        print_json({"error": shown}, compact=lines)
    else:
        where = f"line {problem.line}: " if problem.line is not None else ""
        print(f"{where}{UserError.of(problem)}", file=sys.stderr)
    return 2 if isinstance(error, TargetError) else 1


def _open(options: argparse.Namespace) -> int:
    workbench.start(warm=False)
    experiment = experiment_of(options.module)
    loaded = workbench.open_source(experiment.source)
    if options.json:
        print_json(msgspec.to_builtins(loaded))
    else:
        print(cli_text.loaded(loaded))
    return 0


def _compare(options: argparse.Namespace) -> int:
    question, loaded = question_of(options)
    report = compare(question, loaded)
    if options.time:
        report = with_race(report, run_race(question, *race_of(options)))
    if options.json:
        print_json(msgspec.to_builtins(report))
    else:
        print(cli_text.report(report))
    return 0


def _time(options: argparse.Namespace) -> int:
    question, _ = question_of(options)
    race = run_race(question, *race_of(options))
    report = timing_report(question.target, names_of(question), race)
    if options.json:
        print_json(msgspec.to_builtins(report))
    else:
        print(cli_text.timing(report))
    return 0


def _export(options: argparse.Namespace) -> int:
    experiment, variant = variant_of(options)
    title = experiment.title or ("" if options.module == "-" else Path(options.module).stem)
    experiment = msgspec.structs.replace(experiment, title=title).put(variant)
    made = workbench.export_experiment(experiment, variant.name, options.format)
    write_export(made, options, options.format)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    workbench.start(warm=False)
    tools = workbench.tools()
    if options.module is None:
        if options.json:
            print_json({"tools": msgspec.to_builtins(tools)})
        else:
            print(cli_text.tools(tools))
        return 0 if all(tool.found for tool in tools if tool.required) else 1
    experiment = experiment_of(options.module)
    error = error_texts.told_in(experiment.source.text)
    target = options.target or experiment.target
    try:
        loaded = workbench.open_source(experiment.source)
    except LoadError as unloadable:
        if error is None or isinstance(unloadable, ForbiddenText):
            raise
        only = Diagnosis(status="ill", what=error.what, why=error.why, error=error)
        return _told(only, options)
    sizes = {**experiment.sizes, **sizes_of(options.size, loaded)}
    return _told(diagnose(experiment.source, (), target, sizes, error), options)


def _told(diagnosis: Diagnosis, options: argparse.Namespace) -> int:
    if options.json:
        print_json(msgspec.to_builtins(diagnosis))
    else:
        print(cli_text.diagnosis(diagnosis, options.module))
    return 0
