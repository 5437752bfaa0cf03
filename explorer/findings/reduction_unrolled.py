"""What it is: a long reduction loop is unrolled.

Why it matters: it is legal and often fast for a few steps, but the code grows with the extent,
and each step waits for the last: unrolling alone brings no parallel work.

What to try: split it and unroll the inner part only (4 to 16 steps).
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.nest import Loop
from explorer.model.result import Finding

CODE = "reduction_unrolled"
TITLE = "A long unrolled reduction"
LONG = 64


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per unrolled reduction loop of more than 64 steps."""
    for function in ctx.device_functions():
        for loop in function.nodes:
            if isinstance(loop, Loop) and loop.mode == "unrolled" and loop.kind == "reduction":
                extent = ctx.extent(loop)
                if extent is not None and extent > LONG:
                    yield finding(
                        CODE, "info", function, loop,
                        f"Reduction loop {loop.name} is unrolled {extent} times: long code, and"
                        " each step still waits for the one before.",
                        f"Split {loop.name} and unroll an inner part of 4 to 16.",
                    )  # fmt: skip
