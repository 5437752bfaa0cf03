"""What it is: the block's threads are no multiple of 32, so the last warp has lanes without a
thread.

Why it matters: a warp takes its full time however few of its lanes work. A block of 40 threads
uses 64 lanes: 37 % are idle.

What to try: a number of threads that is a multiple of 32.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.limits import WARP
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "idle_lanes"
TITLE = "Idle lanes in the last warp"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel with a partly empty warp."""
    for launch in launches(ctx):
        threads = launch.threads
        if threads is None or threads <= 1 or threads % WARP == 0:
            continue
        lanes = -(-threads // WARP) * WARP
        share = round(100 * (lanes - threads) / lanes)
        yield finding(
            CODE, "warning" if share >= 25 else "info", launch.function, launch.node,
            f"{threads} threads a block fill {lanes // WARP} warps of {WARP}: {lanes - threads} of"
            f" {lanes} lanes ({share} %) are idle.",
            f"Use a multiple of {WARP} threads.",
            where=launch.where,
        )  # fmt: skip
