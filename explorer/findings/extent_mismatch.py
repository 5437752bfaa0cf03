"""What it is: loops of one kernel are bound to the same axis with different extents.

Why it matters: a kernel has one size per axis. TVM takes the first and builds; the other loop
then runs too few threads (results missing) or too many (reads and writes out of bounds).

What to try: split the longer loop so that both bound loops have the same extent.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "extent_mismatch"
TITLE = "Extents of one axis differ within a kernel"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per axis of a kernel whose loops disagree."""
    for function in ctx.device_functions():
        for region in ctx.regions(function):
            for axis, loops in region.axes().items():
                first = loops[0]
                size = ctx.extent(first)
                for loop in loops[1:]:
                    other = ctx.extent(loop)
                    differs = (
                        size != other if size is not None and other is not None
                        else first.extent != loop.extent
                    )  # fmt: skip
                    if differs:
                        yield finding(
                            CODE, "error", function, loop,
                            f"{axis} has extent {first.extent} in loop {first.name} and"
                            f" {loop.extent} in loop {loop.name} of the same kernel; a launch has"
                            f" one size per axis.",
                            f"Split {loop.name if (other or 0) > (size or 0) else first.name} so"
                            f" that both loops on {axis} have the same extent.",
                        )  # fmt: skip
                        break
