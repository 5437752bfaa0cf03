"""A race: what is timed where, and what it came to.  Times in microseconds, sizes in bytes."""

from __future__ import annotations

from typing import Literal

import msgspec

from explorer.model.result import NOT_CHECKED, Check

Cache = Literal["warm", "flushed"]
Outcome = Literal["faster", "slower", "no_difference", "undecided"]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The runner and the devices it is to use.

    `runner` is a name of `explorer.runners`, "" for the one that suits the target.  RPC needs
    `server` ("host:port"), or `tracker` ("host:port") with `key`; `host_triple` is the remote
    processor's LLVM triple, needed only when the server can't tell it.  `again` uses a device that
    was lost lately.
    """

    runner: str = ""
    server: str = ""
    tracker: str = ""
    key: str = ""
    host_triple: str = ""
    device: int = 0
    again: bool = False


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """How a race is run.

    `budget_s` bounds the timing of one function on one device (building, waiting for the device
    and the reference come on top).  `cache` says whether the last-level cache is emptied before
    each timed call.
    """

    budget_s: float = 5.0
    cache: Cache = "warm"
    seed: int = 0
    baselines: bool = False
    """Race what installed libraries (`explorer.baselines`) offer for the same work, too."""


HERE = Where()
"""This machine, with the runner that suits the target."""
USUAL = Method()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One variant on one device.

    `low_us` to `high_us` is the 95 % bootstrap interval of the median; `spread` the distance
    between the quartiles as a share of the median.  `runs` counts timed calls, `samples_us` are
    the means of each round's calls.  `bound_us` is the roofline bound for the way it was timed (see
    `Roof`), `bound_share` how much of it was reached.  `check` is about the outputs of the timed
    runs.  While a race runs, the figure of one call stands without an interval.
    """

    variant: str
    library: str = ""
    """Library and version of a baseline, "" for a variant."""
    status: Literal["measured", "not_measured"]
    reason: str = ""
    median_us: float | None = None
    low_us: float | None = None
    high_us: float | None = None
    spread: float | None = None
    runs: int = 0
    rounds: int = 0
    set_aside: int = 0
    """Rounds not counted because the system interrupted the process."""
    check: Check = NOT_CHECKED
    gflops: float | None = None
    gbs: float | None = None
    bound_us: float | None = None
    bound_share: float | None = None
    samples_us: tuple[float, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Two variants compared round by round: `ratio` is time of `other` over time of `variant`.

    `words` is the sentence to show, e.g. "1.34× ± 0.02 faster".
    """

    variant: str
    other: str
    outcome: Outcome
    ratio: float
    low: float
    high: float
    words: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """What a number has to be read with; kept and exported with it."""

    runner: str
    device: str
    driver: str = ""
    tvm: str = ""
    target: str = ""
    sizes: dict[str, int] = {}
    method: str = ""
    date: str = ""
    """UTC, ISO 8601."""
    notes: tuple[str, ...] = ()
    """Clock, temperature, throttling, other load: what may have disturbed the times."""


class Roof(msgspec.Struct, frozen=True, kw_only=True):
    """What the device can do at most, and where that is known from: GFLOP/s and GB/s.

    `measured` peaks are rates that a loop reached, not limits of the hardware: `tolerance` is how
    much faster than they say (as a factor) a figure may be before it counts as a fault.
    `one_core_gflops` is there for processors.  `holds` says which part of the roof bounds this
    race: with a warm cache that may hold all the data (`cached`), the arithmetic alone.
    """

    device: str
    peak_gflops: float
    peak_gbs: float
    source: str
    measured: bool = False
    tolerance: float = 1.0
    one_core_gflops: float | None = None
    holds: str = ""
    cached: bool = False


class Heat(msgspec.Struct, frozen=True, kw_only=True):
    """One function on one device: all its variants.  `final` is False while it still runs.

    `winner` is the variant that is faster than every other variant, "" when no verdict says so;
    baselines of libraries are no variants.  `no_baseline` says why a library has no row.
    """

    function: str
    place: Provenance
    rows: tuple[Row, ...]
    verdicts: tuple[Verdict, ...] = ()
    winner: str = ""
    lost: str = ""
    """Why the device was given up, "" when it was not."""
    roof: Roof | None = None
    no_baseline: tuple[str, ...] = ()
    final: bool = True

    def row(self, variant: str) -> Row | None:
        """The row of that variant, or None."""
        return next((row for row in self.rows if row.variant == variant), None)


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """Every function on every device; while it runs, as far as it has come."""

    heats: tuple[Heat, ...] = ()
    warning: str = ""
    """What the user must know about this way of running, e.g. that RPC has no authentication."""
    final: bool = True
