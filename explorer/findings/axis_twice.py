"""What it is: two loops, one inside the other, are bound to the same thread axis.

Why it matters: both loop variables become the same number, so only the diagonal of the two loops is
computed and the rest of the output is never written. TVM says nothing.

What to try: bind the inner loop to another axis, or fuse the two loops and bind the result.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import bound, loops_on_path
from explorer.findings.base import Context, finding
from explorer.model.nest import Loop
from explorer.model.result import Finding

CODE = "axis_twice"
TITLE = "The same thread axis twice on one path"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per inner loop that repeats an axis of a loop around it."""
    for function in ctx.device_functions():
        for loop in function.nodes:
            if not isinstance(loop, Loop) or not bound(loop):
                continue
            for outer in loops_on_path(function, loop):
                if outer.binding == loop.binding and ctx.extent(loop) != 1:
                    yield finding(
                        CODE, "error", function, loop,
                        f"Loops {outer.name} ({outer.extent}) and {loop.name} ({loop.extent}) on one"
                        f" path are both {loop.binding}: only the diagonal of the two is computed.",
                        f"Bind {loop.name} to another axis, or fuse the two loops.",
                    )  # fmt: skip
