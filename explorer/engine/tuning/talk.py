"""What the coordinator of a tuning job tells its hands, and what they answer.  Plain values."""

from __future__ import annotations

import msgspec

from explorer.engine.race_material import Ready
from explorer.engine.tuning.orders import Gene, Made, Wanted
from explorer.model.race import Heat
from explorer.model.result import Check


class Make(msgspec.Struct, frozen=True, tag="make"):
    """Make a candidate."""

    function: str
    id: int
    wanted: Wanted


class Build(msgspec.Struct, frozen=True, tag="build", kw_only=True):
    """Build a candidate, or the rival of that name (its `id` is negative).

    `triple` is the processor of the device's host ("" for this machine's).  With `file` the module
    is exported there, for another machine; else it stays in the hand until it is run.
    """

    function: str
    id: int
    gene: Gene | None = None
    rival: str = ""
    triple: str = ""
    file: str = ""


class Connect(msgspec.Struct, frozen=True, tag="connect"):
    """Take device number `place` of those that the job found."""

    place: int


class Run(msgspec.Struct, frozen=True, tag="run"):
    """Run and time what was built, from `file` if it was exported."""

    function: str
    id: int
    file: str = ""


class Prove(msgspec.Struct, frozen=True, tag="prove"):
    """Compare what a candidate left before there was a reference."""

    function: str
    id: int


class Refer(msgspec.Struct, frozen=True, tag="refer"):
    """Compute what the function should leave, into memory that all share."""

    function: str


class Final(msgspec.Struct, frozen=True, tag="final"):
    """Race candidates and rivals against each other; `genes` by id, rivals by name."""

    function: str
    genes: tuple[tuple[int, Gene], ...]
    rivals: tuple[str, ...]
    place: int
    budget_s: float


class Emulate(msgspec.Struct, frozen=True, tag="emulate"):
    """Run a candidate's kernels on the CPU and compare."""

    function: str
    gene: Gene


Order = Make | Build | Connect | Run | Prove | Refer | Final | Emulate


class Crafted(msgspec.Struct, frozen=True, tag="crafted"):
    """What became of a `Make`."""

    made: Made


class Built(msgspec.Struct, frozen=True, tag="built", kw_only=True):
    """What became of a `Build`: `reason` (a sentence) and `by` when it failed.

    `record` is TVM's tuning record (JSON) without times; `predicted_us` the static model's figure.
    """

    build_s: float = 0.0
    reason: str = ""
    by: str = ""
    record: str = ""
    predicted_us: float | None = None


class Connected(msgspec.Struct, frozen=True, tag="connected", kw_only=True):
    """The device answered, or `failed` says why not.

    `triple` is a remote host's processor, "" when it is the same as ours; with `link` the C++
    compiler here makes libraries for it.
    """

    failed: str = ""
    triple: str = ""
    link: bool = False


class Ran(msgspec.Struct, frozen=True, tag="ran", kw_only=True):
    """Times in microseconds; or how the outputs are `wrong`.

    It is not `proved` while there is no reference to compare with.
    """

    us: float = 0.0
    runs_us: tuple[float, ...] = ()
    wrong: str = ""
    proved: bool = True


class Proved(msgspec.Struct, frozen=True, tag="proved"):
    """How the outputs were wrong, or ""."""

    wrong: str


class Referred(msgspec.Struct, frozen=True, tag="referred"):
    """What the reference is, or why there is none."""

    ready: Ready


class Raced(msgspec.Struct, frozen=True, tag="raced"):
    """The race: rows of the candidates, then of the rivals, in the order asked for.

    `records` are TVM's records of the candidates, without times.
    """

    heat: Heat
    records: dict[int, str]


class Emulated(msgspec.Struct, frozen=True, tag="emulated"):
    """The verdict of the emulator."""

    check: Check


class Broken(msgspec.Struct, frozen=True, tag="broken"):
    """An order ended in an error that nobody expected; its last line."""

    error: str


Answer = Crafted | Built | Connected | Ran | Proved | Referred | Raced | Emulated | Broken
