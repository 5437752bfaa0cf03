"""What several races tell together: sizes, the history of a recipe, what each step is worth."""

from __future__ import annotations

import msgspec

from explorer.model.race import Race, Verdict


class SweepPoint(msgspec.Struct, frozen=True, kw_only=True):
    """All variants at one size.  `remainders` say, by variant, where a tile no longer divides."""

    value: int
    sizes: dict[str, int]
    race: Race
    remainders: dict[str, tuple[str, ...]] = {}


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """The same recipes over a range of a size; `name` is a symbol, or the number that is scaled."""

    name: str
    points: tuple[SweepPoint, ...] = ()
    final: bool = True


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
    """A recipe up to a step: `line` is the step in Python, "" for the module as it came.

    `median_us` is None where `reason` says why; `change` is the verdict against the step before.
    """

    step: int
    line: str
    median_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    reason: str = ""
    change: Verdict | None = None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What each step changed, on the first device of the race."""

    function: str
    steps: tuple[StepTime, ...]
    race: Race


class Static(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a variant's kernels without running them, summed over its kernels."""

    registers: int = 0
    """Most of one kernel."""
    spill_bytes: int = 0
    shared_bytes: int = 0
    instructions: int = 0
    occupancy: float | None = None
    """Least of one kernel, 0 to 1."""
    bound_us: float | None = None


class StepWorth(msgspec.Struct, frozen=True, kw_only=True):
    """The recipe without one step: `verdict` is of the whole recipe against it.

    `worth` is how many times longer it takes without the step; None where `reason` says why.
    `also` are the steps (0-based) that do not apply without it and were left out with it.
    `static` is there where nothing could be timed.
    """

    step: int
    line: str
    also: tuple[int, ...] = ()
    worth: float | None = None
    verdict: Verdict | None = None
    reason: str = ""
    static: Static | None = None


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """What each step is worth.

    `shortest` are the steps (0-based) of the shortest recipe found that keeps `kept` of the speed;
    None where nothing could be timed.  `static` is the whole recipe's.  While figures are still
    being made, `final` is False and only the first steps are there.
    """

    function: str
    steps: tuple[StepWorth, ...]
    shortest: tuple[int, ...] | None = None
    kept: float | None = None
    static: Static | None = None
    race: Race
    final: bool = True
