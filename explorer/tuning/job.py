"""What a tuning job is asked to do: a value that a folder keeps as `job.json`."""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.model.loaded import Source
from explorer.model.race import HERE, Where
from explorer.primitives import AnyStep

VERSION = 1

Strategy = Literal["evolutionary", "random"]
CostModel = Literal["xgb", "none"]
Runner = Literal["llvm", "cuda", "rpc", "static"]


class Task(msgspec.Struct, frozen=True):
    """A function to tune.  Trials are shared out by `weight` (a positive number)."""

    function: str
    weight: float = 1.0


class Pin(msgspec.Struct, frozen=True):
    """Keep a decision: candidates of design `design` take `value` at instruction `at` of its trace.

    `value` is what TVM's trace JSON holds there: factors of a tile, the index of a choice.
    """

    function: str
    design: int
    at: int
    value: int | tuple[int, ...]


class Ban(msgspec.Struct, frozen=True):
    """Leave out a region: a whole design (`at` is None), or all of it whose decision at
    instruction `at` (its factor number `part`, if it is a tile) lies within `low` to `high`."""

    function: str
    design: int
    at: int | None = None
    part: int | None = None
    low: int = 0
    high: int = 0


class Steering(msgspec.Struct, frozen=True, kw_only=True):
    """What may be changed while a job runs.

    `without_rules` and `with_rules` name schedule rules ("MultiLevelTiling", "AutoBind", …).
    `seeds` are variants whose decisions are tried first: (name, function, steps).
    """

    pins: tuple[Pin, ...] = ()
    bans: tuple[Ban, ...] = ()
    without_rules: tuple[str, ...] = ()
    with_rules: tuple[str, ...] = ()
    seeds: tuple[tuple[str, str, tuple[AnyStep, ...]], ...] = ()


class TuneJob(msgspec.Struct, frozen=True, kw_only=True):
    """A search for schedules of functions of a module.

    `steps` come first and are kept: the search schedules what they leave.  `target` is a tag's
    text, `runner` where candidates are timed ("static": nowhere, they are ranked by prediction).
    `trials` counts candidates that were sent to be built; the job ends with them or after
    `budget_min` minutes (None: no limit).  `top` candidates a task are checked at the end.
    `rivals` are variants that are measured with them, for comparison: (name, steps).
    """

    version: int = VERSION
    title: str = ""
    source: Source
    steps: tuple[AnyStep, ...] = ()
    target: str
    sizes: dict[str, int] = {}
    tasks: tuple[Task, ...]
    runner: Runner
    where: Where = HERE
    trials: int = 64
    budget_min: float | None = None
    strategy: Strategy = "evolutionary"
    cost_model: CostModel = "xgb"
    seed: int = 0
    top: int = 5
    build_timeout_s: float = 30.0
    run_timeout_s: float = 10.0
    steering: Steering = Steering()
    rivals: tuple[tuple[str, tuple[AnyStep, ...]], ...] = ()
