"""Modules for build tests: cases by number, texts, and schedules written as Python functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from explorer.comparison import with_findings
from explorer.engine.build import build, static_checks
from explorer.engine.propose import propose
from explorer.engine.read_schedule import read_schedule
from explorer.engine.targets import cuda_tags
from explorer.model.loaded import Source
from explorer.model.result import Build
from explorer.model.target import Target
from explorer.primitives import AnyStep, Step
from explorer.targets import resolve

CASES = Path(__file__).parents[1] / "cases"


def case(number: str) -> Source:
    """The module of a case, as the user had it."""
    (folder,) = CASES.glob(f"{number}_*")
    return Source((folder / "module.py").read_text(encoding="utf-8"))


def case_schedule(number: str) -> str:
    """The schedule that the user of a case wrote."""
    (folder,) = CASES.glob(f"{number}_*")
    return (folder / "sched.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def tags() -> tuple[Target, ...]:
    return cuda_tags()


@pytest.fixture(scope="session")
def target(tags: tuple[Target, ...]) -> Target:
    return resolve("nvidia/geforce-rtx-4090", tags)


Builder = Callable[..., Build]


@pytest.fixture(scope="session")
def made(target: Target) -> Callable[..., tuple[Source, tuple[Step, ...]]]:
    """A case or text with a schedule: Python text, "sched" (the case's own), or a strategy."""

    def make(module: str, schedule: str = "") -> tuple[Source, tuple[Step, ...]]:
        source = case(module) if module.isdigit() else Source(module)
        if not schedule:
            return source, ()
        if schedule in ("default_gpu", "dlight"):
            proposal = propose(source, (), schedule, target)
        else:
            text = case_schedule(module) if schedule == "sched" else schedule
            proposal = read_schedule(source, text, ())
        return source, msgspec.convert(proposal.steps, tuple[AnyStep, ...])

    return make


@pytest.fixture(scope="session")
def built(target: Target, made: Callable[..., tuple[Source, tuple[Step, ...]]]) -> Builder:
    """Build a case or text: `built(module, schedule, sizes, target)`."""

    def make(
        module: str,
        schedule: str = "",
        sizes: dict[str, int] | None = None,
        target: Target = target,
    ) -> Build:
        source, steps = made(module, schedule)
        found = build(source, steps, target, sizes or {})
        return with_findings(found, static_checks(source, steps, target, sizes or {}))

    return make
