"""What it is: a loop is bound to a name that is no CUDA axis, such as threadIdx.w.

Why it matters: TVM takes any text; what comes out is not CUDA, or runs as something else.

What to try: bind to blockIdx or threadIdx with .x, .y or .z, or to vthread.x/.y/.z.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.nests import AXES, is_virtual
from explorer.findings.base import Context, finding
from explorer.model.nest import Loop
from explorer.model.result import Finding

CODE = "axis_unknown"
TITLE = "A thread axis that does not exist"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per loop bound to an unknown axis."""
    for function in ctx.device_functions():
        for loop in function.nodes:
            if isinstance(loop, Loop) and loop.mode == "bound":
                if loop.binding in AXES or is_virtual(loop.binding):
                    continue
                yield finding(
                    CODE, "error", function, loop,
                    f"Loop {loop.name} is bound to {loop.binding}, which CUDA does not have.",
                    "Bind it to blockIdx or threadIdx with .x, .y or .z.",
                )  # fmt: skip
