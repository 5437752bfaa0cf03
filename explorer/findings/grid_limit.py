"""What it is: a blockIdx axis is longer than a grid may be: 2^31-1 along x, 65535 along y and z.

Why it matters: TVM builds it; the launch fails.

What to try: bind the longest loop to blockIdx.x, or split it and bind the parts to two axes.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.limits import GUIDE, MAX_GRID
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "grid_limit"
TITLE = "A grid that is too long along one axis"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per axis over its limit."""
    for launch in launches(ctx):
        for axis, size, limit in zip("xyz", launch.grid, MAX_GRID, strict=True):
            if size is not None and size > limit:
                yield finding(
                    CODE, "error", launch.function, launch.node,
                    f"blockIdx.{axis} has {size} blocks{ctx.assuming(launch.function)}, but the"
                    f" limit is {limit} ({GUIDE}): the launch fails.",
                    "Bind that loop to blockIdx.x, or split it over two axes.",
                    where=launch.where,
                )  # fmt: skip
