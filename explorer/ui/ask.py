"""What the page asks the workbench, answered once and kept by content.

Views are waited for (the page needs them); builds are waited for briefly; checks, timings and
exports never.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer import workbench
from explorer.errors import UserError
from explorer.model.loaded import Loaded, Source
from explorer.model.result import Build, Check
from explorer.model.view import Exported, Proposal, View
from explorer.ui.background import Answer, Background
from explorer.ui.desk import Desk

PATIENCE_S = 60.0
"""A request has its own limits in the worker; this only bounds a page that waits for it."""
BUILD_WAIT_S = 1.5


@st.cache_resource
def background() -> Background:
    """One for all browser tabs: the same question is asked once."""
    return Background()


def opened(source: Source) -> Loaded:
    """The module of a text.  Raises LoadError."""
    return _wait(background().ask(workbench.open_source, source, wait_s=PATIENCE_S))


def view(desk: Desk, variant: str = "") -> View:
    """Nest, text and steps of a variant.  Raises WorkerDied when the worker ended."""
    steps = _steps(desk, variant)
    return _wait(background().ask(workbench.view, desk.source, steps, wait_s=PATIENCE_S))


def build(desk: Desk, variant: str = "", *, wait_s: float = 0.0) -> Answer[Build]:
    """The variant compiled for the experiment's target."""
    experiment = desk.experiment
    return background().ask(
        workbench.build, desk.source, _steps(desk, variant), experiment.target, experiment.sizes,
        wait_s=wait_s,
    )  # fmt: skip


def checkable(build: Build) -> bool:
    """Whether there is anything to run: a kernel in every function that needs one."""
    return build.status == "built" and any(function.kernels for function in build.functions)


def checks(desk: Desk, variant: str = "") -> Answer[dict[str, Check]]:
    """The verdict per function of a built variant."""
    experiment = desk.experiment
    return background().ask(
        workbench.check, desk.source, _steps(desk, variant), experiment.target, experiment.sizes
    )


def exported(desk: Desk, form: str, variant: str = "") -> Answer[Exported]:
    """A file to save, made and verified in the background."""
    experiment = desk.experiment
    return background().ask(
        workbench.export, desk.source, _steps(desk, variant), experiment.target, experiment.sizes,
        form,
    )  # fmt: skip


def proposed(desk: Desk, strategy: str, function: str = "", rule: str = "") -> Proposal:
    """What TVM would do.  Raises UserError."""
    return _wait(
        background().ask(
            workbench.propose, desk.source, desk.current.steps, strategy,
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


def schedule_read(desk: Desk, text: str) -> Proposal:
    """A schedule text as steps on the original.  Raises ScheduleTextError with the line."""
    return _wait(
        background().ask(workbench.read_schedule, desk.source, text, (), wait_s=PATIENCE_S)
    )


def _steps(desk: Desk, variant: str) -> tuple[Any, ...]:
    found = desk.experiment.variant(variant) if variant else desk.current
    return found.steps if found is not None else ()


def _wait(answer: Answer[Any]) -> Any:
    if answer.problem is not None:
        raise UserError.of(answer.problem)
    if answer.pending:
        raise UserError("The workers are still busy with this.", do="Try again in a moment.")
    return answer.value
