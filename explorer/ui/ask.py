"""What the page asks the workbench, answered once and kept by content.

Views are waited for (the page needs them); builds are waited for briefly; NVRTC, checks and
exports never.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from explorer import bind_doctor, comparison, workbench
from explorer.errors import Problem, UserError
from explorer.model.analysis import Analysis
from explorer.model.diagnosis import TriedCure
from explorer.model.doctor import Tool
from explorer.model.loaded import Loaded, Source
from explorer.model.result import Build, Compiled
from explorer.model.view import Exported, Proposal, View
from explorer.ui.background import Answer
from explorer.ui.desk import Desk
from explorer.ui.state import background

PATIENCE_S = 60.0
"""A request has its own limits in the worker; this only bounds a page that waits for it."""
BUILD_WAIT_S = 1.5


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a variant's build now: with NVRTC's word and verdicts as they come.

    `waiting` names what is still being worked on; `problem` is why there is no build at all;
    `refused` is what NVRTC refused, with its lines.
    """

    build: Build | None = None
    refused: tuple[Compiled, ...] = ()
    problem: Problem | None = None
    waiting: Literal["", "building", "checking"] = ""


def opened(source: Source) -> Loaded:
    """The module of a text.  Raises LoadError."""
    return _wait(background().ask(workbench.open_source, source, wait_s=PATIENCE_S))


def view(desk: Desk, variant: str = "") -> View:
    """Nest, text and steps of a variant.  Raises WorkerDied when the worker ended."""
    steps = _steps(desk, variant)
    return _wait(background().ask(workbench.view, desk.source, steps, wait_s=PATIENCE_S))


def result(desk: Desk, variant: str = "", *, wait_s: float = 0.0) -> Result:
    """The variant compiled for the experiment's target, as far as it is known now."""
    source, steps, sizes = desk.source, _steps(desk, variant), desk.experiment.sizes
    target = desk.experiment.target
    made = background().ask(workbench.build, source, steps, target, sizes, wait_s=wait_s)
    if made.value is None:
        return Result(problem=made.problem, waiting="building" if made.pending else "")
    build = made.value
    seen = background().ask(workbench.findings, source, steps, target, sizes)
    if seen.value is not None:
        build = comparison.with_findings(build, seen.value)
    elif seen.problem is not None:
        build = comparison.with_findings(build, comparison.unseen(seen.problem))
    if not any(function.kernels for function in build.functions):
        return Result(
            build=comparison.with_times(build), waiting="checking" if seen.pending else ""
        )
    compiled = background().ask(workbench.compile_check, source, steps, target)
    refused: tuple[Compiled, ...] = ()
    if compiled.value is not None:
        build = comparison.with_compiled(build, compiled.value)
        refused = tuple(each for each in compiled.value if each.status == "refused")
    waiting = compiled.pending or seen.pending
    if made.value.status == "built":
        checks = background().ask(workbench.check, source, steps, target, sizes)
        waiting = waiting or checks.pending
        if checks.value is not None:
            build = comparison.with_checks(build, checks.value)
        elif checks.problem is not None:
            build = comparison.with_checks(build, unchecked(build, checks.problem))
    return Result(
        build=comparison.with_times(build),
        refused=refused,
        waiting="checking" if waiting else "",
    )


def analysed(desk: Desk, variant: str = "") -> Answer[Analysis]:
    """Registers, occupancy, a bound, PTX and SASS of a variant's kernels."""
    experiment = desk.experiment
    return background().ask(
        workbench.analyse, desk.source, _steps(desk, variant), experiment.target, experiment.sizes
    )


def exported(desk: Desk, form: str, check: str) -> Answer[Exported]:
    """The current variant as a file, made and verified in the background."""
    experiment = desk.experiment
    alone = msgspec.structs.replace(experiment, variants=(desk.current,))
    return background().ask(_export, alone, desk.variant, form, check)


def _export(experiment: Any, variant: str, form: str, check: str) -> Exported:
    return workbench.export_experiment(experiment, variant, form, check=check)


def proposed(
    desk: Desk, steps: tuple[Any, ...], strategy: str, function: str = "", rule: str = ""
) -> Proposal:
    """What TVM would do after `steps`.  Raises UserError."""
    return _wait(
        background().ask(
            workbench.propose, desk.source, steps, strategy,
            desk.experiment.target, function, rule, wait_s=PATIENCE_S,
        )
    )  # fmt: skip


def cured(desk: Desk, cure_id: str) -> Proposal:
    """The steps of a one-click cure.  Raises UserError."""
    return _wait(
        background().ask(
            workbench.cure, desk.source, desk.current.steps, cure_id,
            desk.experiment.target, desk.experiment.sizes, wait_s=PATIENCE_S,
        )
    )  # fmt: skip


def tried(desk: Desk, cure_id: str) -> Answer[TriedCure]:
    """What became of a cure: applied, built and checked in the background."""
    experiment = desk.experiment
    return background().ask(
        bind_doctor.try_cure, desk.source, desk.current.steps, cure_id,
        experiment.target, experiment.sizes,
    )  # fmt: skip


def tools() -> Answer[tuple[Tool, ...]]:
    """What this machine has of what the program uses."""
    return background().ask(workbench.tools)


def schedule_read(desk: Desk, text: str) -> Proposal:
    """A schedule text as steps on the original.  Raises ScheduleTextError with the line."""
    return _wait(
        background().ask(workbench.read_schedule, desk.source, text, (), wait_s=PATIENCE_S)
    )


def unchecked(build: Build, problem: Problem) -> dict[str, Any]:
    """A verdict of "not checked" with its reason, for a check that did not end."""
    from explorer.model.result import Check

    why = " ".join(part for part in (problem.what, problem.why) if part)
    return {f.name: Check(status="not_checked", detail=why) for f in build.functions if f.kernels}


def _steps(desk: Desk, variant: str) -> tuple[Any, ...]:
    found = desk.experiment.variant(variant) if variant else desk.current
    return found.steps if found is not None else ()


def _wait(answer: Answer[Any]) -> Any:
    if answer.problem is not None:
        raise UserError.of(answer.problem)
    if answer.pending:
        raise UserError("The workers are still busy with this.", do="Try again in a moment.")
    return answer.value
