"""What it is: the grid does not fill the GPU, or its last wave of blocks fills only a part of it.

Why it matters: all SMs work through a grid in waves. 1.1 waves take as long as 2. Fewer blocks
than SMs leave some idle from the start.

What to try: smaller blocks or more blocks; a grid that is a multiple of the blocks the GPU holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.occupancy import occupancy
from explorer.analysis.peaks import gpu
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "tail_wave"
TITLE = "The grid leaves SMs idle"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel with few blocks or a short last wave; the GPU must be a known one."""
    card = gpu(ctx.target.tag)
    for launch in launches(ctx):
        kernel = launch.kernel
        blocks, threads = (kernel.blocks, kernel.threads) if kernel else (None, None)
        if card is None or not kernel or not blocks or not threads or blocks == 1:
            continue
        shared = kernel.shared_bytes + (kernel.dynamic_shared_bytes or 0)
        held = occupancy(ctx.limits, threads, None, shared).blocks_per_sm * card.sms
        if blocks < card.sms:
            yield finding(
                CODE, "info", launch.function, launch.node,
                f"{blocks} blocks for {card.sms} SMs of {card.name}{ctx.assuming(launch.function)}:"
                f" {card.sms - blocks} SMs have nothing to do.",
                "Use smaller blocks, or split a reduction over blocks (rfactor).",
                where=launch.where,
            )  # fmt: skip
        elif held and blocks > held and blocks % held and (blocks % held) / held < 0.5:
            waves, filled = blocks / held, 100 * (blocks % held) // held
            if waves < 5:
                yield finding(
                    CODE, "info", launch.function, launch.node,
                    f"{blocks} blocks are {waves:.2f} waves of {held}"
                    f"{ctx.assuming(launch.function)}: the last wave fills {filled} % of"
                    f" {card.name}.",
                    "Choose a grid that is just under a whole number of waves.",
                    where=launch.where,
                )  # fmt: skip
