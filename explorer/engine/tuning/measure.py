"""The figure of a candidate: warmed up, timed a few times, its outputs compared each time."""

from __future__ import annotations

import math
import statistics

from explorer.engine.race_line import Order as Turn
from explorer.engine.race_material import PLANS
from explorer.engine.race_track import Track
from explorer.engine.tuning.talk import Ran

RUN_US = 10_000.0
"""A run is as many calls as take this long."""
RUNS = 5
MOST_US = 300_000.0
"""All runs together; a slow kernel has fewer, at least one."""
AGAIN = 3
"""So many runs that the system interrupted are made again."""


def measure(track: Track, variant: int) -> Ran:
    """Time a loaded variant.  What the device raises is the caller's to catch."""
    guess = math.inf
    for plan in range(len(PLANS)):  # warms up, and shows both outputs
        told = track.turn(Turn("turn", variant, plan=plan))
        if told.wrong:
            return Ran(wrong=told.wrong)
        guess = min(guess, told.us)
    calls = max(math.ceil(RUN_US / max(guess, 1e-3)), 1)
    wanted = max(min(int(MOST_US / (guess * calls)), RUNS), 1)
    runs: list[float] = []
    disturbed: list[float] = []
    while len(runs) < wanted and len(runs) + len(disturbed) < wanted + AGAIN:
        plan = (len(runs) + len(disturbed)) % len(PLANS)
        told = track.turn(Turn("turn", variant, plan=plan, calls=calls))
        if told.wrong:
            return Ran(wrong=told.wrong)
        (runs if told.clean else disturbed).append(told.us)
    # Rather an interrupted run than too few: the shortest are the least disturbed.
    runs += sorted(disturbed)[: max(wanted - len(runs), 0)]
    return Ran(us=statistics.median(runs), runs_us=tuple(runs))
