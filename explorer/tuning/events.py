"""What happens in a tuning job, one JSON line each in `events.jsonl`.  Times of day are seconds
since the epoch; durations are in seconds, kernels' times in microseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.model.race import Provenance
from explorer.model.result import Check

Fate = Literal[
    "rejected", "banned", "duplicate", "passed_over",
    "build_failed", "timed_out", "run_failed", "wrong", "measured", "predicted",
]  # fmt: skip
"""How far a candidate came.

rejected: a postprocessor refused it; banned: steering excludes it; duplicate: same program as an
earlier one; passed_over: valid, but the cost model preferred others (so far); build_failed: TVM,
LLVM or NVRTC refused it, or it can't be launched; timed_out: building or running took too long, or
its process died; run_failed: the device refused it; wrong: its outputs differ; measured: timed;
predicted: built and ranked without a device.
"""

Phase = Literal["preparing", "searching", "checking"]
Ending = Literal["done", "stopped", "budget", "exhausted", "failed"]


class Started(msgspec.Struct, frozen=True, tag="started", kw_only=True):
    """A process began to work on the job; `again` when it resumed earlier work.

    `put_aside` counts lines of TVM's database that were damaged and are kept in another file.
    """

    at: float
    pid: int
    again: bool = False
    place: Provenance | None = None
    put_aside: int = 0


class Entered(msgspec.Struct, frozen=True, tag="entered"):
    """A phase of a task."""

    at: float
    function: str
    phase: Phase


class Decision(msgspec.Struct, frozen=True):
    """One sampling instruction of a design: where in the trace, what it samples, in words.

    `what` is such as "tile of i in block C"; `parts` how many factors it has (0: one index).
    `candidates` are the values of a choice, if it is one.
    """

    at: int
    what: str
    parts: int = 0
    candidates: tuple[int, ...] = ()


class Design(msgspec.Struct, frozen=True, tag="design", kw_only=True):
    """A design space of a task: a trace of TVM (JSON) without decisions, and what is open in it."""

    function: str
    number: int
    trace: str
    rule: str = ""
    decisions: tuple[Decision, ...] = ()


class Candidate(msgspec.Struct, frozen=True, tag="candidate", kw_only=True, omit_defaults=True):
    """A candidate has come to its end.

    A later event of the same id replaces it: one that was passed over may still be tried.

    `id` counts from 1 within the job and is unique.  `design` and `decisions` (instruction index
    and value, as in TVM's trace JSON) make it again; where a mutation changed more than decisions,
    `trace` is the whole trace.  `reason` is a sentence for all but measured and predicted ones;
    `by` names the postprocessor or tool that ended it.  `origin` is "sampled", "mutated from 12",
    "seed NAME" or "imported".  `score` is the cost model's word before building (higher is
    better), `us` the median of its runs, `predicted_us` the static model's figure.
    """

    at: float
    id: int
    function: str
    fate: Fate
    design: int = -1
    decisions: tuple[tuple[int, int | tuple[int, ...]], ...] = ()
    trace: str = ""
    reason: str = ""
    by: str = ""
    origin: str = "sampled"
    round: int = 0
    score: float | None = None
    us: float | None = None
    runs_us: tuple[float, ...] = ()
    predicted_us: float | None = None
    build_s: float = 0.0
    run_s: float = 0.0
    trial: int = 0
    """Its number among the trials of the job (1-based); 0 when it never became one."""
    digest: str = ""
    """The same for equal programs."""
    unproved: bool = False
    """Measured, but its outputs are not compared yet: the reference is still being made."""


class Rival(msgspec.Struct, frozen=True, tag="rival", kw_only=True):
    """A variant that was measured or predicted beside the candidates, or why not."""

    at: float
    function: str
    name: str
    us: float | None = None
    predicted_us: float | None = None
    reason: str = ""


class Checked(msgspec.Struct, frozen=True, tag="checked", kw_only=True):
    """The verdict on one of the best candidates; `rank` counts from 1."""

    at: float
    function: str
    id: int
    rank: int
    check: Check


class Steered(msgspec.Struct, frozen=True, tag="steered"):
    """The wishes changed: paused, running again, or steering (its summary in words)."""

    at: float
    what: Literal["paused", "resumed", "steered"]
    words: str = ""


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The process ended its work; a job without it and without a process was killed."""

    at: float
    how: Ending
    reason: str = ""


Event = Started | Entered | Design | Candidate | Rival | Checked | Steered | Finished
