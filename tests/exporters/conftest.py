"""Variants to export: a text, a schedule, and the experiment around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from explorer.engine.propose import propose
from explorer.engine.read_schedule import read_schedule
from explorer.engine.targets import cuda_tags
from explorer.experiment import Experiment, Variant
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.primitives import AnyStep
from explorer.targets import resolve

CASES = Path(__file__).parents[1] / "cases"


@pytest.fixture(scope="session")
def target() -> Target:
    return resolve("nvidia/geforce-rtx-4090", cuda_tags())


@pytest.fixture(scope="session")
def experiment(target: Target) -> Callable[..., Experiment]:
    """An experiment with variant "mine": a case's number or a text, and a schedule."""

    def make(module: str, schedule: str = "", sizes: dict[str, int] | None = None) -> Experiment:
        text, own = module, ""
        if module.isdigit():
            (folder,) = CASES.glob(f"{module}_*")
            text = (folder / "module.py").read_text(encoding="utf-8")
            own = folder / "sched.py" if (folder / "sched.py").exists() else ""
        source = Source(text)
        if not schedule:
            steps = []
        elif schedule in ("default_gpu", "dlight"):
            steps = propose(source, (), schedule, target).steps
        else:
            if schedule == "sched":
                assert own
                schedule = Path(own).read_text(encoding="utf-8")
            steps = read_schedule(source, schedule, ()).steps
        variant = Variant("mine", msgspec.convert(steps, tuple[AnyStep, ...]))
        return Experiment(
            title="Trial", source=source, target=target.tag, sizes=sizes or {}, variants=(variant,)
        )

    return make
