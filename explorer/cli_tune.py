"""`tune`: what the options ask for made a tuning job, or a job resumed, and then followed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from explorer import tunes, workbench
from explorer.cli_follow import INTERRUPTED, follow
from explorer.cli_inputs import (
    Usage,
    check_names,
    default_names,
    experiment_of,
    read_text,
    sizes_of,
)
from explorer.comparison import ORIGINAL, Question, make
from explorer.errors import ExperimentError, UserError
from explorer.experiment import Experiment
from explorer.model.loaded import Loaded, Source
from explorer.model.race import HERE, Where
from explorer.primitives import Step
from explorer.tuning.folder import RECORDS, Folder
from explorer.tuning.job import Runner, Steering, Task, TuneJob

ON_RESUME = ("trials", "minutes", "without_rule", "with_rule")
"""What may be given anew when a job goes on."""
FIXED = (
    "module", "target", "runner", "func", "size", "with_", "strategy", "cost_model", "seed", "top",
    "start", "schedule", "rpc", "tracker", "key", "host_triple", "device",
)  # fmt: skip
Named = tuple[str, tuple[Step, ...]]


def tune(options: argparse.Namespace) -> int:
    """Run the command.  0 when it ended with a result, 1 without, 130 when it was interrupted."""
    options.lines = options.json or not sys.stdout.isatty()
    options.json = options.lines
    workbench.start()
    path = Path(options.work_dir).absolute()
    try:
        if options.resume:
            _prepare_resumed(options, path)
        else:
            _refuse_used(path)
            tunes.new_job(_job(options), path)
    except KeyboardInterrupt:
        return INTERRUPTED  # nothing was begun
    return follow(path, lines=options.lines)


# The job


def _job(options: argparse.Namespace) -> TuneJob:
    """What the options ask for.  Raises Usage and UserError."""
    if options.module is None:
        raise Usage("tune needs a MODULE (or --resume)")
    experiment = experiment_of(options.module)
    loaded = workbench.open_source(experiment.source)
    sizes = {**experiment.sizes, **sizes_of(options.size, loaded)}
    if loaded.symbols:
        experiment = msgspec.structs.replace(
            experiment, source=workbench.fix_sizes(experiment.source, sizes)
        )
        at = ", ".join(f"{name} = {sizes[name]}" for name in loaded.symbols)
        left = [f.name for f in loaded.nest.functions if f.kind == "relax"]
        out = f"; {', '.join(left)} (Relax) left out" if left else ""
        told = f"A search needs fixed sizes: the job's module is that with {at}{out}."
        print(told, file=sys.stderr)
    target = options.target or ("llvm" if options.runner == "llvm" else experiment.target)
    where = Where(
        server=options.rpc, tracker=options.tracker, key=options.key, again=options.again,
        host_triple=options.host_triple, device=options.device,
    )  # fmt: skip
    runner = _runner(options, target, where)
    question = Question(source=experiment.source, target=target)
    tasks = _tasks(options.func, loaded)
    given: dict[str, Any] = {
        "trials": options.trials, "budget_min": options.minutes, "strategy": options.strategy,
        "cost_model": options.cost_model, "seed": options.seed, "top": options.top,
    }  # fmt: skip
    return TuneJob(
        title=experiment.title or ("" if options.module == "-" else Path(options.module).stem),
        source=experiment.source, target=target, tasks=tasks, runner=runner, where=where,
        sizes=sizes,
        rivals=_rivals(options.with_, question, experiment),
        steering=Steering(
            without_rules=tuple(options.without_rule), with_rules=tuple(options.with_rule),
            seeds=_seeds(options, question, experiment, tasks),
        ),
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip


def _runner(options: argparse.Namespace, target: str, where: Where) -> Runner:
    """Where to measure; refuses at once what can't be."""
    addressed = bool(where.server or where.tracker)
    runner: Runner = options.runner or ("rpc" if addressed else tunes.usual_runner(target))
    if runner == "rpc" and not addressed:
        raise Usage("the runner rpc needs --rpc HOST:PORT, or --tracker HOST:PORT with --key")
    if runner in ("llvm", "cuda"):
        name = "local_cuda" if runner == "cuda" else runner
        refusal = workbench.can_time(target, msgspec.structs.replace(HERE, runner=name))
        if refusal is not None:
            do = refusal.do if runner == "llvm" else 'Use --runner "static", "rpc" or "llvm".'
            raise UserError(refusal.what, refusal.why, do)
    return runner


def _tasks(given: list[str], loaded: Loaded) -> tuple[Task, ...]:
    """The functions to tune, each with its weight."""
    names = [f.name for f in loaded.nest.functions if f.kind == "prim" and not f.host]
    tasks = []
    for text in given:
        name, equals, weight = text.partition("=")
        if name not in names:
            raise Usage(f"the module has no function {name}; it has {', '.join(names)}")
        try:
            share = float(weight) if equals else 1.0
        except ValueError:
            share = 0.0
        if not 0 < share < float("inf"):
            raise Usage(f"--func takes NAME or NAME=WEIGHT with a positive number, not {text}")
        tasks.append(Task(name, share))
    if not names:
        raise UserError("The module has no function that can be tuned.")
    return tuple(tasks) or tuple(Task(name) for name in names)


def _rivals(
    given: tuple[str, ...] | None, question: Question, experiment: Experiment
) -> tuple[Named, ...]:
    """The variants measured beside; one that can't be made is left out, with a word why."""
    known = {variant.name: variant.steps for variant in experiment.variants}
    names = given or default_names(experiment, question.target)
    check_names(names, known)
    if not given and workbench.resolve(question.target).kind == "cuda":
        names = tuple(name for name in names if name != ORIGINAL)  # it has no kernel
    found: list[Named] = []
    for name in names:
        try:
            found.append((name, known.get(name) or make(question, name).steps))
        except UserError as error:
            print(f"{name} is not measured beside: {error}", file=sys.stderr)
    return tuple(each for each in found if each[1] or each[0] == ORIGINAL)


def _seeds(
    options: argparse.Namespace, question: Question, experiment: Experiment,
    tasks: tuple[Task, ...],
) -> tuple[tuple[str, str, tuple[Step, ...]], ...]:  # fmt: skip
    """Variants whose decisions are tried first, by function."""
    known = {variant.name: variant.steps for variant in experiment.variants}
    check_names(options.start, known)
    named: list[Named] = [(n, known.get(n) or make(question, n).steps) for n in options.start]
    for file in options.schedule:
        steps = workbench.schedule_steps(question.source, read_text(file))
        named.append((Path(file).stem, steps))
    seeds = []
    for name, steps in named:
        mine = [
            (name, task.function, own) for task in tasks
            if (own := tuple(step for step in steps if step.func() == task.function))
        ]  # fmt: skip
        if not mine:
            raise UserError(
                f"{name} can't be started from.", "It schedules none of the functions to tune."
            )
        seeds += mine
    return tuple(seeds)


def _prepare_resumed(options: argparse.Namespace, path: Path) -> None:
    """Budget and rules as given anew; anything else belongs to the job.  Raises Usage."""
    job = Folder(path).job()
    for name in FIXED:
        value = getattr(options, name)
        if not value:
            continue
        if name == "module" and _source(value, job.sizes) == job.source:
            continue
        shown = "MODULE" if name == "module" else f"--{name.strip('_').replace('_', '-')}"
        raise Usage(f"{shown} can't be changed by --resume; start a new job in another folder")
    tunes.extend(path, trials=options.trials, budget_min=options.minutes)
    if options.without_rule or options.with_rule:
        before = Folder(path).control().steering or job.steering
        steering = msgspec.structs.replace(
            before, without_rules=tuple(options.without_rule), with_rules=tuple(options.with_rule)
        )
        tunes.steer(path, steering)


def _source(module: str, sizes: dict[str, int]) -> Source:
    """The text of a module as a job has it."""
    source = experiment_of(module).source
    symbolic = workbench.open_source(source).symbols
    return workbench.fix_sizes(source, sizes) if symbolic else source


def _refuse_used(path: Path) -> None:
    if (path / RECORDS).exists() and not (path / "job.json").exists():
        raise ExperimentError(
            f"{path} holds a database of another program.",
            "It would be changed.",
            f"Import it first: python -m explorer records {path} --import NEW",
        )
