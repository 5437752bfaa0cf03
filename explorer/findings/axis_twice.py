"""What it is: two loops, one inside the other, are bound to the same thread axis.

Why it matters: both loop variables become the same number, so only the diagonal of the two loops
is computed and the rest of the output is never written. TVM says nothing.

What to try: bind the inner loop to another axis, or fuse the two loops and bind the result.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import loops_on_path
from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "axis_twice"
TITLE = "The same thread axis twice on one path"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block and axis; a cooperative load that repeats an axis is fine."""
    for function, block, fact in ctx.blocks():
        loops = loops_on_path(function, block)
        for axis, outer_name, inner_name in fact.twice:
            outer = next(loop for loop in loops if loop.name == outer_name)
            inner = next(loop for loop in reversed(loops) if loop.name == inner_name)
            yield finding(
                CODE, "error", function, inner,
                f"Loops {outer.name} ({outer.extent}) and {inner.name} ({inner.extent}) around"
                f" block {block.name} are both {axis}: they are the same number, so only the"
                " diagonal of the two is computed.",
                f"Bind {inner.name} to another axis, or fuse the two loops.",
            )  # fmt: skip
