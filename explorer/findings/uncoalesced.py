"""What it is: the lanes of a warp touch global memory far apart: each needs a sector (32 bytes)
of its own.

Why it matters: memory moves whole sectors. 32 lanes with 4 bytes each fill 4 sectors when they
are neighbours, and need 32 when they are not: 8 times the traffic.

What to try: bind threadIdx.x to the loop of the last dimension of the buffer; or load a tile into
shared memory along its rows and read it from there in the other direction.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.kernel import Access, Kernel, requests
from explorer.analysis.memory import GlobalPattern, global_pattern
from explorer.findings.base import Context, finding
from explorer.findings.launches import Launch, launches
from explorer.model.result import Finding

CODE = "uncoalesced"
TITLE = "Global memory is not walked along threadIdx.x"
POOR = 0.5


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per buffer that is walked badly, and one line with all other accesses."""
    for launch in launches(ctx):
        if launch.kernel is None:
            continue
        good: dict[str, None] = {}
        poor: dict[tuple[str, str, GlobalPattern], list[str]] = {}
        for access, pattern in walked(launch.kernel):
            name = f"{access.kind} of {access.buffer}[{access.index}]"
            unknown = pattern.pattern == "data-dependent"
            if unknown or (pattern.efficiency <= POOR and pattern.sectors > 1):
                poor.setdefault((access.kind, access.buffer, pattern), []).append(name)
            else:
                how = f"{pattern.pattern} ({pattern.sectors:.3g})"
                good[f"{access.kind} {access.buffer} {how}"] = None
        for (_, buffer, pattern), names in poor.items():
            more = f" (and {len(names) - 1} more like it)" if len(names) > 1 else ""
            yield _poor(ctx, launch, buffer, pattern, names[0] + more)
        if good:
            yield finding(
                CODE, "info", launch.function, launch.node,
                f"Sectors per warp request: {', '.join(good)}.", where=launch.where,
            )  # fmt: skip


def _poor(ctx: Context, launch: Launch, buffer: str, pattern: GlobalPattern, name: str) -> Finding:
    where = f"{launch.where}, {buffer}"
    if pattern.pattern == "data-dependent":
        return finding(
            CODE, "info", launch.function, launch.node,
            f"The {name} depends on data: its sectors can't be known here.", where=where,
        )  # fmt: skip
    stride = pattern.stride_bytes
    how = f"strided by {abs(stride)} bytes" if stride else pattern.pattern
    return finding(
        CODE, "warning", launch.function, launch.node,
        f"The {name} is {how} along threadIdx.x: {pattern.sectors:.3g} sectors per warp request,"
        f" {pattern.needed:.3g} would do{ctx.assuming(launch.function)}.",
        "Bind threadIdx.x to the last dimension of the buffer, or go through a shared tile.",
        where=where,
    )  # fmt: skip


def walked(kernel: Kernel) -> Iterable[tuple[Access, GlobalPattern]]:
    """Each distinct global access that some sampled thread makes, and how a warp walks it."""
    seen = set()
    for access in kernel.accesses:
        name = (access.kind, access.buffer, access.index, access.lanes)
        if access.is_global and name not in seen and requests(kernel, access):
            seen.add(name)
            pattern = global_pattern(access)
            if pattern is not None:
                yield access, pattern
