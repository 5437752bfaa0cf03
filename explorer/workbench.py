"""The verbs: what the page and the command line can ask for.  Plain values in and out, no TVM.

Each is one question to a worker, or pure.  All raise UserError subclasses (WorkerDied when the
worker ended); nothing is kept here but TVM's list of targets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec

from explorer import cures
from explorer import targets as target_forms
from explorer.errors import Refusal, StepRefused, UserError
from explorer.experiment import Experiment, Variant
from explorer.model.analysis import Analysis
from explorer.model.doctor import Tool
from explorer.model.loaded import Loaded, Source
from explorer.model.nest import Nest
from explorer.model.race import HERE, USUAL, Method, Race, Where
from explorer.model.result import Build, Check, Compiled, Finding
from explorer.model.target import Target
from explorer.model.view import Exported, Proposal, View
from explorer.primitives import AnyStep, Step
from explorer.runners import RUNNERS, chosen
from explorer.tuning.events import Finished
from explorer.tuning.records import Imported, Records
from explorer.worker import client

Steps = tuple[Step, ...]

LOAD_TIMEOUT_S = 20.0
BUILD_TIMEOUT_S = 30.0
STRATEGY_TIMEOUT_S = 60.0
COMPILE_TIMEOUT_S = 120.0
CHECK_TIMEOUT_S = 180.0
EXPORT_TIMEOUT_S = 180.0
RECORDS_TIMEOUT_S = 300.0
RACE_TIMEOUT_S = 300.0
"""On top of the budget: waiting for the device, building, the reference."""
RACE_EXTRA_S = 10.0
"""For each variant: one that hangs is noticed after a while."""


def start(*, warm: bool = True) -> None:
    """Begin to start the workers, in the background; `warm` imports TVM's intrinsics too."""
    client.start(warm=warm)


def open_source(source: Source) -> Loaded:
    """The module of a text: migrated, loaded and drawn.  Raises LoadError with line and remedy."""
    return client.ask("load", Loaded, source, timeout_s=LOAD_TIMEOUT_S)


def fix_sizes(source: Source, sizes: dict[str, int]) -> Source:
    """The module with its symbolic sizes as numbers.  Raises LoadError, SizeError."""
    return client.ask("fix_sizes", Source, source, sizes, timeout_s=LOAD_TIMEOUT_S)


def view(source: Source, steps: Steps) -> View:
    """Nest and TVMScript after the steps; steps that no longer apply are skipped and say why."""
    return client.ask("view", View, source, steps)


def propose(
    source: Source, steps: Steps, strategy: str, target: str, function: str = "", rule: str = ""
) -> Proposal:
    """What an automatic strategy would do after `steps`.  Raises UserError for unknown names."""
    return client.ask(
        "propose", Proposal, source, steps, strategy, resolve(target), function, rule,
        timeout_s=STRATEGY_TIMEOUT_S,
    )  # fmt: skip


def read_schedule(source: Source, text: str, steps: Steps) -> Proposal:
    """A schedule file (Python or JSON trace) as steps.  Raises ScheduleTextError, StepRefused."""
    return client.ask("read_schedule", Proposal, source, text, steps, timeout_s=STRATEGY_TIMEOUT_S)


def schedule_steps(source: Source, text: str) -> Steps:
    """The steps of a schedule file that applies as a whole.

    Raises ScheduleTextError, and StepRefused for the first line that does not apply.
    """
    found = read_schedule(source, text, ())
    if found.refusal is not None:
        raise UserError.of(found.refusal)
    return steps_of(found)


def steps_of(proposal: Proposal) -> Steps:
    """The steps of a proposal as values."""
    found: Steps = msgspec.convert(proposal.steps, tuple[AnyStep, ...])
    return found


def build(source: Source, steps: Steps, target: str, sizes: dict[str, int]) -> Build:
    """CUDA text, launches and host code, and what building alone has to say against them.

    A function without a kernel, and a step that no longer applies, are values with a reason.
    """
    return client.ask(
        "build", Build, source, steps, resolve(target), sizes, timeout_s=BUILD_TIMEOUT_S
    )


def findings(
    source: Source, steps: Steps, target: str, sizes: dict[str, int]
) -> tuple[Finding, ...]:
    """What the static checks see in the same build, worst first."""
    return client.ask(
        "static_checks", tuple[Finding, ...], source, steps, resolve(target), sizes,
        timeout_s=BUILD_TIMEOUT_S,
    )  # fmt: skip


def compile_check(source: Source, steps: Steps, target: str) -> tuple[Compiled, ...]:
    """NVRTC's word on every function with kernels; about 1.5 s each the first time."""
    return client.ask(
        "compile_check", tuple[Compiled, ...], source, steps, resolve(target),
        timeout_s=COMPILE_TIMEOUT_S,
    )  # fmt: skip


def analyse(source: Source, steps: Steps, target: str, sizes: dict[str, int]) -> Analysis:
    """Registers, spills, PTX, SASS, occupancy and a roofline bound of every kernel."""
    return client.ask(
        "analyse", Analysis, source, steps, resolve(target), sizes, timeout_s=COMPILE_TIMEOUT_S
    )


def check(
    source: Source, steps: Steps, target: str, sizes: dict[str, int], function: str = ""
) -> dict[str, Check]:
    """The kernels run on the CPU and compared with the unscheduled module, by function."""
    verdicts = client.ask(
        "check", tuple[tuple[str, Check], ...], source, steps, resolve(target), sizes, function,
        timeout_s=CHECK_TIMEOUT_S,
    )  # fmt: skip
    return dict(verdicts)


def race(
    source: Source,
    variants: tuple[Variant, ...],
    target: str,
    sizes: dict[str, int],
    *,
    function: str = "",
    where: Where = HERE,
    method: Method = USUAL,
    on_news: Callable[[Race], None] | None = None,
) -> client.Job[Race]:
    """Begin to time variants against each other; `latest` and `on_news` give what is known so far.

    The answer is a race whose rows say what was measured or why not.  `cancel` stops it.
    """
    functions = max(len(variants), 1) * RACE_EXTRA_S
    return client.watch(
        "race", Race, source, variants, resolve(target), sizes, function, where, method,
        timeout_s=20 * method.budget_s + RACE_TIMEOUT_S + functions, on_news=on_news,
    )  # fmt: skip


def tune(path: str) -> client.Job[Finished]:
    """Begin to work on the tuning job in a folder, or go on with it; its events tell what happens.

    `explorer.tunes` keeps account of these jobs.
    """
    return client.keep_at("tune", Finished, path)


def candidate(path: str, id: int) -> Proposal:
    """A candidate of a tuning job as steps behind the job's own.  Raises ExperimentError."""
    return client.ask("candidate", Proposal, path, id, timeout_s=COMPILE_TIMEOUT_S)


def records(path: str) -> Records:
    """What is in a database of TVM's: a folder, or either of its files.  Raises ExperimentError."""
    return client.ask("records", Records, path, timeout_s=RECORDS_TIMEOUT_S)


def read_record(
    source: Source, steps: Steps, path: str, number: int, function: str = ""
) -> Proposal:
    """A record (by its line) as steps behind `steps`.

    Raises ExperimentError when the module has no function that it is for.
    """
    return client.ask(
        "read_record", Proposal, source, steps, path, number, function,
        timeout_s=COMPILE_TIMEOUT_S,
    )  # fmt: skip


def import_records(path: str, into: str, source: Source | None = None) -> Imported:
    """The records at `path` as candidates in the folder `into`; `explorer.tunes` makes it a job."""
    return client.ask("import_records", Imported, path, into, source, timeout_s=RECORDS_TIMEOUT_S)


def runners() -> dict[str, str]:
    """Every runner by name, with its label for menus."""
    return {name: runner.LABEL for name, runner in RUNNERS.items()}


def can_time(target: str, where: Where) -> Refusal | None:
    """Why code for `target` can't be timed there, as far as this machine can tell, or None."""
    found = chosen(where, resolve(target))
    return found if isinstance(found, Refusal) else None


def cure(
    source: Source, steps: Steps, cure_id: str, target: str, sizes: dict[str, int]
) -> Proposal:
    """The steps of a finding's one-click cure.  Raises StepRefused when it no longer applies."""
    kind, _, what = cure_id.partition(":")
    if kind == "strategy":
        return propose(source, steps, what, target)
    plans = bind_plans(source, steps, cure_id)
    if not plans:
        raise StepRefused(
            "This cure does not apply any more.", "The loop is gone or all its axes are taken.",
            "Bind a loop from its own menu.",
        )  # fmt: skip
    first: Refusal | None = None
    for plan in plans:
        seen = refused(source, steps, plan)
        if seen is None:
            return Proposal(steps=msgspec.json.decode(msgspec.json.encode(plan)))
        first = first or seen
    assert first is not None
    raise StepRefused(first.what, first.why, first.do, details=first.details)


def bind_plans(source: Source, steps: Steps, cure_id: str) -> tuple[Steps, ...]:
    """Ways of a "bind:" cure to bind a loop's nest or all that is unbound, best first.

    Nests that TVM refuses to bind are left out, unless there are no others.
    """
    nest = view(source, steps).nest
    ids = cures.sick_nests(nest) if cure_id == cures.BIND else (cure_id,)
    plans: dict[bytes, Steps] = {}
    for at in range(len(cures.LEVELS)):
        chosen = [_nest_plan(nest, source, steps, one, cures.LEVELS[at:]) for one in ids]
        able = [plan for plan, good in chosen if good]
        plan = tuple(step for part in able or [plan for plan, _ in chosen] for step in part)
        if plan:
            plans[msgspec.json.encode(plan)] = plan
    return tuple(plans.values())


def _nest_plan(
    nest: Nest, source: Source, steps: Steps, cure_id: str, levels: tuple[cures.Level, ...]
) -> tuple[Steps, bool]:
    """The first way to bind a nest that TVM takes, and True; else the first way there is."""
    function = nest.function(cure_id.removeprefix(cures.BIND).partition("/")[0])
    if function is None:
        return (), False
    found = [plan for level in levels if (plan := cures.cure_steps(function, cure_id, level))]
    for plan in found:
        if refused(source, steps, plan) is None:
            return plan, True
    return (found[0] if found else ()), False


def refused(source: Source, steps: Steps, more: Steps) -> Refusal | None:
    """Why TVM refuses the first of `more` behind `steps` that it does refuse, or None."""
    after = view(source, steps + more).steps[len(steps) :]
    return next((step.refusal for step in after if step.refusal is not None), None)


def export(
    source: Source,
    steps: Steps,
    target: str,
    sizes: dict[str, int],
    form: str,
    *,
    name: str = "schedule",
    check: str = "",
) -> Exported:
    """One variant as a file of format `form`, shown to reproduce it.  Raises BuildError if not."""
    experiment = Experiment(
        source=source, target=target, sizes=sizes, variants=(Variant(name, steps),)
    )
    return export_experiment(experiment, name, form, check=check)


def export_experiment(
    experiment: Experiment, variant: str, form: str, *, check: str = ""
) -> Exported:
    """A variant of an experiment as a file.  `check` is what is known of its results, in words."""
    return client.ask(
        "export", Exported, experiment, variant, form, resolve(experiment.target), check,
        timeout_s=EXPORT_TIMEOUT_S,
    )  # fmt: skip


def targets() -> tuple[Target, ...]:
    """The local GPU, if there is one, and TVM's NVIDIA tags, complete with limits."""
    tags = _tags()
    local = target_forms.local_gpu(tags)
    return tags if local is None or local in tags else (local, *tags)


def target(text: str) -> Target:
    """The target that a text names.  Raises TargetError with the closest names."""
    return resolve(text)


@functools.lru_cache(maxsize=256)
def resolve(text: str) -> Target:
    """`target`, remembered."""
    return target_forms.resolve(text, _tags())


@functools.cache
def _tags() -> tuple[Target, ...]:
    return client.ask("cuda_tags", tuple[Target, ...], timeout_s=LOAD_TIMEOUT_S)


@functools.cache
def strategies() -> dict[str, tuple[str, ...]]:
    """Every automatic strategy by name, with the rules it can be narrowed to."""
    return client.ask("strategies", dict[str, tuple[str, ...]], timeout_s=LOAD_TIMEOUT_S)


def rules() -> tuple[str, ...]:
    """The rules of dlight for CUDA, in TVM's order."""
    return strategies()["dlight"]


def tools() -> tuple[Tool, ...]:
    """What is installed, what it is needed for, and how to repair what is missing."""
    return client.ask("tools", tuple[Tool, ...], timeout_s=CHECK_TIMEOUT_S)


__all__ = [
    "UserError", "analyse", "bind_plans", "build", "can_time", "candidate", "check",
    "compile_check", "cure", "export", "export_experiment", "findings", "import_records",
    "open_source", "propose", "race", "read_record", "read_schedule", "records", "refused",
    "resolve", "rules", "runners", "schedule_steps", "start", "steps_of", "strategies", "target",
    "targets",
    "tools", "tune", "view",
]  # fmt: skip
