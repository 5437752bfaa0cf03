"""What it is: each thread moves 1 or 2 bytes at a time where it could move 4 to 16.

Why it matters: a warp that loads 32 halves fills only half of what one request can carry; more
requests are needed for the same bytes, and the kernel may be limited by their number.

What to try: split the innermost loop by 2 to 8 and vectorise it (8 halves are 16 bytes).
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.findings.uncoalesced import walked
from explorer.model.result import Finding

CODE = "narrow_access"
TITLE = "Narrow global accesses"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel, naming its narrow coalesced accesses and the widths in use."""
    for launch in launches(ctx):
        if launch.kernel is None:
            continue
        narrow: dict[str, int] = {}
        for access, pattern in walked(launch.kernel):
            if access.width_bytes < 4 and pattern.pattern == "coalesced":
                narrow[f"{access.kind} {access.buffer}"] = access.width_bytes
        if narrow:
            each = ", ".join(f"{name} {width} B" for name, width in narrow.items())
            yield finding(
                CODE, "info", launch.function, launch.node,
                f"Threads move less than 4 bytes at a time: {each}.",
                "Split the innermost loop and vectorise it, up to 16 bytes a thread.",
                where=launch.where,
            )  # fmt: skip
