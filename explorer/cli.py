"""The same verbs by command, for scripts and CI: open, compare, time, export, doctor.

Exit code 0 when the question was answered, 1 when the text can't be loaded or the file can't be
made, 2 for wrong usage.  With `--json` an error is `{"error": {...}}` on standard output.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from explorer import cli_text, error_texts, workbench
from explorer.bind_doctor import diagnose
from explorer.cli_options import DEFAULT_WITH, FORMS, make_parser
from explorer.comparison import ORIGINAL, Question, compare
from explorer.errors import ExperimentError, ForbiddenText, LoadError, TargetError, UserError
from explorer.experiment import Experiment, Variant, parse
from explorer.model.diagnosis import Diagnosis
from explorer.model.loaded import Loaded, Source
from explorer.model.race import Method, Where
from explorer.model.race_report import timing_report
from explorer.targets import DEFAULT
from explorer.timing import names_of, run_race, with_race
from explorer.worker.client import WorkerBug


class Usage(Exception):
    """The command line is wrong; shown with the usage, exit code 2."""


def main(argv: list[str] | None = None) -> int:
    """Answer one command; returns the exit code."""
    parser = make_parser(
        {"open": _open, "compare": _compare, "time": _time, "export": _export, "doctor": _doctor}
    )
    options = parser.parse_args(argv)
    try:
        return int(options.run(options))
    except Usage as wrong:
        parser.error(str(wrong))
    except UserError as error:
        return _failed(error, options.json)
    except WorkerBug as bug:
        print(f"This is a bug of the program, please report it:\n{bug}", file=sys.stderr)
        last = str(bug).strip().splitlines()[-1]
        failure = UserError("This is a bug of the program.", last, "Please report it.")
        return _failed(failure, options.json) if options.json else 1


def _failed(error: UserError, as_json: bool) -> int:
    problem = error.problem
    if as_json:
        shown = {
            "what": problem.what, "why": problem.why, "do": problem.do, "line": problem.line,
        }  # fmt: skip
        _print_json({"error": shown})
    else:
        where = f"line {problem.line}: " if problem.line is not None else ""
        print(f"{where}{error}", file=sys.stderr)
    return 2 if isinstance(error, TargetError) else 1


def _open(options: argparse.Namespace) -> int:
    workbench.start(warm=False)
    experiment = _experiment(options.module)
    loaded = workbench.open_source(experiment.source)
    if options.json:
        _print_json(msgspec.to_builtins(loaded))
    else:
        print(cli_text.loaded(loaded))
    return 0


def _compare(options: argparse.Namespace) -> int:
    question, loaded = _question(options)
    report = compare(question, loaded)
    if options.time:
        report = with_race(report, run_race(question, *_race(options)))
    if options.json:
        _print_json(msgspec.to_builtins(report))
    else:
        print(cli_text.report(report))
    return 0


def _time(options: argparse.Namespace) -> int:
    question, _ = _question(options)
    race = run_race(question, *_race(options))
    report = timing_report(question.target, names_of(question), race)
    if options.json:
        _print_json(msgspec.to_builtins(report))
    else:
        print(cli_text.timing(report))
    return 0


def _race(options: argparse.Namespace) -> tuple[Where, Method]:
    where = Where(
        runner=options.runner, server=options.rpc, tracker=options.tracker, key=options.key,
        host_triple=options.host_triple, device=options.device, again=options.again,
    )  # fmt: skip
    return where, Method(budget_s=options.budget, cache=options.cache)


def _question(options: argparse.Namespace) -> tuple[Question, Loaded]:
    """What `compare` and `time` are asked, and the module it is about."""
    schedules = tuple(_schedule(text) for text in options.schedule)
    experiment = _experiment(options.module)
    target = options.target or experiment.target
    names = options.with_
    if names is None:
        names = _default_names(experiment, target)
    workbench.start(warm=_needs_intrinsics(names, [text for _, text in schedules]))
    loaded = workbench.open_source(experiment.source)
    known = {variant.name: variant.steps for variant in experiment.variants}
    _check_names(names, known)
    question = Question(
        source=experiment.source,
        target=target,
        names=tuple(name for name in names if name not in known),
        variants=tuple((name, known[name]) for name in names if name in known),
        schedules=schedules,
        function=options.func,
        sizes={**experiment.sizes, **_sizes(options.size)},
    )
    functions = {function.name for function in loaded.nest.functions}
    if question.function and question.function not in functions:
        raise Usage(
            f"the module has no function {question.function}; it has {', '.join(sorted(functions))}"
        )
    return question, loaded


def _export(options: argparse.Namespace) -> int:
    experiment = _experiment(options.module)
    text = _read(options.schedule) if options.schedule else ""
    name = options.with_ or Path(options.schedule).stem
    workbench.start(warm=_needs_intrinsics([name], [text]))
    workbench.open_source(experiment.source)
    target = options.target or experiment.target
    known = {variant.name: variant for variant in experiment.variants}
    if text:
        proposal = workbench.read_schedule(experiment.source, text, ())
    elif name in known or name == ORIGINAL:
        proposal = None
    else:
        _check_names([name], known)
        proposal = workbench.propose(experiment.source, (), name, target, options.func)
    steps = known[name].steps if name in known else ()
    if proposal is not None:
        steps = workbench.steps_of(proposal)
    sizes = {**experiment.sizes, **_sizes(options.size)}
    title = experiment.title or ("" if options.module == "-" else Path(options.module).stem)
    experiment = msgspec.structs.replace(experiment, title=title, target=target, sizes=sizes)
    experiment = experiment.put(Variant(name, steps))
    made = workbench.export_experiment(experiment, name, options.format)
    out = options.output or made.name
    if out == "-":
        print(made.text, end="")
    else:
        Path(out).write_text(made.text, encoding="utf-8")
    if options.json:
        _print_json({"file": out, "verified": made.verified})
    elif out != "-":
        print(f"{out}: {made.verified}")
        if options.format == FORMS[0]:
            print(f"Run it: python {out}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    workbench.start(warm=False)
    tools = workbench.tools()
    if options.module is None:
        if options.json:
            _print_json({"tools": msgspec.to_builtins(tools)})
        else:
            print(cli_text.tools(tools))
        return 0 if all(tool.found for tool in tools if tool.required) else 1
    experiment = _experiment(options.module)
    error = error_texts.told_in(experiment.source.text)
    target = options.target or experiment.target
    try:
        workbench.open_source(experiment.source)
    except LoadError as unloadable:
        if error is None or isinstance(unloadable, ForbiddenText):
            raise
        only = Diagnosis(status="ill", what=error.what, why=error.why, error=error)
        return _told(only, options)
    sizes = {**experiment.sizes, **_sizes(options.size)}
    return _told(diagnose(experiment.source, (), target, sizes, error), options)


def _told(diagnosis: Diagnosis, options: argparse.Namespace) -> int:
    if options.json:
        _print_json(msgspec.to_builtins(diagnosis))
    else:
        print(cli_text.diagnosis(diagnosis, options.module))
    return 0


def _experiment(path: str) -> Experiment:
    """What a MODULE argument names: an experiment file, or a text ("-" is standard input).

    Raises LoadError when it can't be read.
    """
    text = _read(path)
    if text.lstrip().startswith("{"):
        try:
            return parse(text.encode())
        except ExperimentError:
            if path.endswith(".json"):
                raise
    return Experiment(source=Source(text), target=DEFAULT)


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read()
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LoadError(f"{path} is not text.", str(error), "Save it as UTF-8.") from error
    except OSError as error:
        raise LoadError(f"{path} can't be read.", f"{error.strerror}.") from error


def _schedule(given: str) -> tuple[str, str]:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise Usage(f"--schedule takes NAME=FILE, not {given}")
    return name, _read(path)


def _sizes(given: list[str]) -> dict[str, int]:
    sizes = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals and value.strip().isdigit()):
            raise Usage(f"--size takes NAME=NUMBER, e.g. n=128, not {text}")
        sizes[name] = int(value)
    return sizes


def _default_names(experiment: Experiment, target: str) -> tuple[str, ...]:
    if experiment.variants:
        return tuple(variant.name for variant in experiment.variants)
    if workbench.resolve(target).kind == "llvm":
        return (ORIGINAL,)  # the automatic ways are for GPUs
    return DEFAULT_WITH


def _check_names(names: Any, known: Any) -> None:
    strategies = workbench.strategies()
    allowed = [ORIGINAL, *strategies, *known]
    for name in names:
        if name not in allowed:
            raise Usage(f"there is no variant {name}; there are {', '.join(allowed)}")


def _needs_intrinsics(names: Any, texts: list[str]) -> bool:
    """Whether importing TVM's intrinsics up front pays: it takes seconds, later even longer."""
    return any(name not in (ORIGINAL, "default_gpu") for name in names) or any(
        "tensorize" in text for text in texts
    )


def _print_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
