"""Modules for build tests: cases by number, texts, and schedules written as Python functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.engine.targets import cuda_tags
from explorer.model.loaded import Source
from explorer.model.target import Target
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
