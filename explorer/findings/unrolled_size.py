"""What it is: after unrolling, the kernel has very many statements.

Why it matters: code that does not fit the instruction cache (some 128 KB, about 8000
instructions) is fetched again and again, registers run out, and NVRTC takes long.

What to try: unroll an inner part only, or leave the loop to the compiler (#pragma unroll with a
limit).
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.findings.launches import Launch, launches
from explorer.model.nest import Loop
from explorer.model.result import Finding

CODE = "unrolled_size"
TITLE = "Very long unrolled code"
MANY = 256


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel whose unrolled loops make more than 256 statements."""
    for launch in launches(ctx):
        if launch.region is None:
            continue
        loops = [n for n in launch.region.nodes() if isinstance(n, Loop) and n.mode == "unrolled"]
        copies = 0
        for loop in loops:
            count = 1
            for other in loops:
                if loop.id == other.id or loop.id.startswith(other.id + "/"):
                    count *= ctx.extent(other) or 1
            copies = max(copies, count)
        if copies > MANY:
            names = ", ".join(f"{loop.name} ({loop.extent})" for loop in loops)
            yield finding(
                CODE, "warning" if copies > 4096 else "info", launch.function, launch.node,
                f"Unrolling {names} makes {copies} copies of the body"
                f"{_statements(launch)}.",
                "Split the loop and unroll an inner part of 4 to 16.",
                where=launch.where,
            )  # fmt: skip


def _statements(launch: Launch) -> str:
    return f", {launch.kernel.statements} statements in the kernel" if launch.kernel else ""
