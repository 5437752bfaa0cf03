"""Every case under DefaultGPUSchedule, dlight and its own schedule: the verdict is the truth."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tvm
from tvm import ir, s_tir

from explorer.engine.check import check, check_module
from explorer.engine.load import module
from explorer.engine.propose import propose
from explorer.errors import ForbiddenText
from explorer.model.loaded import Source
from explorer.model.result import Check
from explorer.model.target import Target
from explorer.primitives import AnyStep

CASES = Path(__file__).parents[1] / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if (path / "module.py").exists())
SIZES: dict[str, dict[str, int]] = {
    "23": {"p": 3, "q": 37}, "38": {"batch": 3}, "40": {"m": 45}, "44": {"n": 5},
    "61": {"n": 101}, "78": {"n": 0}, "80": {"s0": 48}, "93": {"n": 45},
}  # fmt: skip
NO_KERNEL = "No kernel"
CANNOT_LAUNCH = "Cannot launch"
TRUTH: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    # (case, way) -> function -> status and a word of the detail, where it is not a match
    ("12", "default_gpu"): {"pack": ("not_checked", NO_KERNEL)},
    ("12", "dlight"): {"pack": ("not_checked", NO_KERNEL)},
    ("13", "dlight"): {"scatter": ("not_checked", NO_KERNEL)},
    ("20", "default_gpu"): {"rownorm": ("not_checked", "Not built")},
    ("20", "dlight"): {"rownorm": ("not_checked", NO_KERNEL)},
    ("21", "default_gpu"): {"main": ("not_checked", NO_KERNEL)},
    ("21", "dlight"): {"main": ("not_checked", NO_KERNEL)},
    ("24", "default_gpu"): {"shape_calc": ("not_checked", "Host function")},
    ("24", "dlight"): {"shape_calc": ("not_checked", "Host function")},
    ("51", "manual"): {"main": ("out_of_bounds", "Index -1")},
    ("55", "manual"): {"main": ("not_checked", "2048 threads; the limit is 1024")},
    ("60", "manual"): {"main": ("not_checked", "65536 bytes of static shared memory")},
    ("61", "manual"): {"main": ("not_checked", CANNOT_LAUNCH)},
    ("63", "default_gpu"): {"scale_inplace": ("not_checked", NO_KERNEL)},
    ("63", "dlight"): {"scale_inplace": ("not_checked", NO_KERNEL)},
    ("64", "default_gpu"): {"cumsum": ("not_checked", NO_KERNEL)},
    ("64", "dlight"): {"cumsum": ("not_checked", NO_KERNEL)},
    ("78", "dlight"): {"relu": ("not_checked", "a grid of 0 x 1 x 1 blocks")},
    ("89", "dlight"): {"head": ("out_of_bounds", "Write outside buffer Y: element 10")},
}


@cache
def source(name: str) -> Source:
    return Source((CASES / name / "module.py").read_text())


def judge(name: str, way: str, found: tuple[tuple[str, Check], ...]) -> None:
    truth = TRUTH.get((name[:2], way), {})
    assert found
    for function, verdict in found:
        status, word = truth.get(function, ("match", ""))
        assert verdict.status == status, f"{function}: {verdict.detail}"
        assert word in verdict.detail


@pytest.mark.parametrize("way", ["default_gpu", "dlight"])
@pytest.mark.parametrize("name", NAMES)
def test_a_strategy(name: str, way: str, target: Target) -> None:
    try:
        module(source(name))
    except ForbiddenText:
        assert name.startswith("76")
        return
    proposal = propose(source(name), (), way, target)
    steps = msgspec.convert(proposal.steps, tuple[AnyStep, ...])
    judge(name, way, check(source(name), steps, target, SIZES.get(name[:2], {})))


@pytest.mark.parametrize("name", [n for n in NAMES if (CASES / n / "sched.py").exists()])
def test_its_own_schedule(name: str, target: Target) -> None:
    original = module(source(name))
    space: dict[str, Any] = {"tvm": tvm}
    exec((CASES / name / "sched.py").read_text(), space)
    sch = s_tir.Schedule(ir.IRModule(dict(original.functions_items())))
    try:
        space["apply"](sch)
    except s_tir.ScheduleError:
        assert name[:2] in {"53", "63", "64"}
        return
    judge(name, "manual", check_module(original, sch.mod, target, SIZES.get(name[:2], {})))


def test_sizes_are_those_of_the_cases() -> None:
    for name in NAMES:
        said = CASES / name / "case.md"
        if said.exists():
            found = re.search(
                r"Symbolic sizes used for the numeric runs: (\{.*\})", said.read_text()
            )
            if found:
                assert SIZES[name[:2]] == json.loads(found.group(1))
