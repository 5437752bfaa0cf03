"""What it is: lanes of a warp want different words of the same shared-memory bank at once.

Why it matters: shared memory has 32 banks of 4 bytes; each serves one word at a time. An n-way conflict
takes n times as long.

What to try: pad the rows of the tile (storage_align, e.g. 33 instead of 32 floats), or change which
loop is threadIdx.x.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.kernel import requests
from explorer.analysis.memory import shared_pattern
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "bank_conflicts"
TITLE = "Shared-memory bank conflicts"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per distinct shared access with a conflict."""
    for launch in launches(ctx):
        seen = set()
        for access in launch.kernel.accesses if launch.kernel else ():
            name = (access.kind, access.buffer, access.index)
            if not access.is_shared or name in seen or not requests(launch.kernel, access):  # type: ignore[arg-type]
                continue
            seen.add(name)
            pattern = shared_pattern(access)
            if pattern is not None and pattern.ways > 1 and pattern.wavefronts > pattern.needed:
                yield finding(
                    CODE, "warning" if pattern.ways >= 4 else "info", launch.function, launch.node,
                    f"The {access.kind} of {access.buffer}[{access.index}] has {pattern.ways}-way bank"
                    f" conflicts: {pattern.wavefronts:.3g} wavefronts per warp request,"
                    f" {pattern.needed:.3g} would do.",
                    "Pad the rows of the tile with storage_align, or change which loop is"
                    " threadIdx.x.",
                    where=f"{launch.where}, {access.buffer}",
                )  # fmt: skip
