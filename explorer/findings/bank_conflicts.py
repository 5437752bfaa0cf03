"""What it is: lanes of a warp want different words of the same shared-memory bank at once.

Why it matters: shared memory has 32 banks of 4 bytes; each serves one word at a time. An n-way
conflict takes n times as long.

What to try: pad the rows of the tile (storage_align, e.g. 33 instead of 32 floats), or change
which loop is threadIdx.x.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.kernel import requests
from explorer.analysis.memory import SharedPattern, shared_pattern
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.result import Finding

CODE = "bank_conflicts"
TITLE = "Shared-memory bank conflicts"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per buffer, direction and degree of conflict."""
    for launch in launches(ctx):
        kernel = launch.kernel
        found: dict[tuple[str, str, SharedPattern], list[str]] = {}
        for access in kernel.accesses if kernel else ():
            if kernel is None or not access.is_shared or not requests(kernel, access):
                continue
            pattern = shared_pattern(access)
            if pattern is not None and pattern.ways > 1 and pattern.wavefronts > pattern.needed:
                same = found.setdefault((access.kind, access.buffer, pattern), [])
                if access.index not in same:
                    same.append(access.index)
        for (kind, buffer, pattern), indices in found.items():
            more = f" (and {len(indices) - 1} more like it)" if len(indices) > 1 else ""
            yield finding(
                CODE, "warning" if pattern.ways >= 4 else "info", launch.function, launch.node,
                f"The {kind} of {buffer}[{indices[0]}]{more} has {pattern.ways}-way bank conflicts:"
                f" {pattern.wavefronts:.3g} wavefronts per warp request, {pattern.needed:.3g} would"
                " do.",
                "Pad the rows of the tile with storage_align, or change which loop is threadIdx.x.",
                where=f"{launch.where}, {buffer}",
            )  # fmt: skip
