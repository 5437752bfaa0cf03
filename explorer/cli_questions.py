"""What `compare`, `time` and the studies are asked: variants of a module, where and how timed."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from explorer import workbench
from explorer.cli_inputs import (
    Usage,
    check_names,
    default_names,
    experiment_of,
    named_schedule,
    needs_intrinsics,
    read_text,
    sizes_of,
)
from explorer.comparison import ORIGINAL, Question
from explorer.errors import UserError
from explorer.experiment import Experiment, Variant
from explorer.model.loaded import Loaded
from explorer.model.race import Method, Where
from explorer.model.view import Proposal
from explorer.tuned import tuned


def race_of(options: argparse.Namespace) -> tuple[Where, Method]:
    """Where and how the options want it timed."""
    where = Where(
        runner=options.runner, server=options.rpc, tracker=options.tracker, key=options.key,
        host_triple=options.host_triple, device=options.device, again=options.again,
    )  # fmt: skip
    method = Method(budget_s=options.budget, cache=options.cache, baselines=options.baselines)
    return where, method


def question_of(options: argparse.Namespace) -> tuple[Question, Loaded]:
    """The variants named, and the module they are of.  Starts the workers.

    Raises LoadError, Usage.
    """
    schedules = tuple(named_schedule(text) for text in options.schedule)
    experiment = experiment_of(options.module)
    target = options.target or experiment.target
    names = options.with_
    if names is None:
        names = default_names(experiment, target)
    workbench.start(warm=needs_intrinsics(names, [text for _, text in schedules]))
    loaded = workbench.open_source(experiment.source)
    known = {variant.name: variant.steps for variant in experiment.variants}
    check_names(names, known)
    found = tuple(tuned(text, experiment.source, options.func) for text in options.tuned)
    question = Question(
        source=experiment.source,
        target=target,
        names=tuple(name for name in names if name not in known),
        variants=(*((name, known[name]) for name in names if name in known), *found),
        schedules=schedules,
        function=options.func,
        sizes={**experiment.sizes, **sizes_of(options.size, loaded)},
    )
    _has_function(loaded, question.function)
    return question, loaded


def variant_of(options: argparse.Namespace) -> tuple[Experiment, Variant]:
    """The one variant that --with, --schedule or --tuned names.  Starts the workers.

    The experiment has the target and the sizes asked for.  Raises LoadError, StepRefused, Usage,
    and UserError where an automatic way schedules nothing.
    """
    experiment = experiment_of(options.module)
    text = read_text(options.schedule) if options.schedule else ""
    name = options.with_ or Path(options.schedule or "").stem
    workbench.start(warm=needs_intrinsics([name or options.tuned], [text]))
    loaded = workbench.open_source(experiment.source)
    _has_function(loaded, options.func)
    target = options.target or experiment.target
    sizes = {**experiment.sizes, **sizes_of(options.size, loaded)}
    known = {variant.name: variant for variant in experiment.variants}
    if options.tuned:
        variant = Variant(*tuned(options.tuned, experiment.source, options.func))
    elif text:
        variant = Variant(name, workbench.schedule_steps(experiment.source, text))
    elif name in known or name == ORIGINAL:
        variant = Variant(name, known[name].steps if name in known else ())
    else:
        check_names([name], known)
        found = workbench.propose(experiment.source, (), name, target, options.func)
        _scheduled_something(name, found)
        variant = Variant(name, workbench.steps_of(found))
    return msgspec.structs.replace(experiment, target=target, sizes=sizes), variant


def _scheduled_something(name: str, found: Proposal) -> None:
    failed = [each for each in found.outcomes if each.status == "failed"]
    if failed and not found.steps:
        raise UserError(
            f"{name} schedules nothing here.",
            " ".join(f"{each.rule} on {each.function} failed: {each.reason}" for each in failed),
            "Schedule it by hand (--schedule FILE), or name another variant.",
        )


def _has_function(loaded: Loaded, name: str) -> None:
    functions = {function.name for function in loaded.nest.functions}
    if name and name not in functions:
        raise Usage(f"the module has no function {name}; it has {', '.join(sorted(functions))}")
