"""What it is: a reduction loop is vectorised.

Why it matters: a vector has no sum across its lanes here; TVM falls back to scalar code or makes
lanes overwrite each other.

What to try: vectorise a spatial loop, or split the reduction and use rfactor.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.nest import Loop
from explorer.model.result import Finding

CODE = "reduction_vectorized"
TITLE = "A vectorised reduction"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per vectorised loop that is a reduction."""
    for function in ctx.device_functions():
        for loop in function.nodes:
            if isinstance(loop, Loop) and loop.mode == "vectorized":
                if loop.kind in ("reduction", "mixed") and ctx.extent(loop) != 1:
                    yield finding(
                        CODE, "error", function, loop,
                        f"Loop {loop.name} ({loop.extent}) is a reduction and vectorised: its lanes"
                        " all write one element.",
                        "Vectorise a spatial loop instead.",
                    )  # fmt: skip
