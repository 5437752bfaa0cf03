"""What it is: a kernel loads the same bytes from global memory many times over.

Why it matters: the cache may serve repeats, but each is still a request; bandwidth to the cache
is limited too. A tile in shared memory or registers is loaded once and used many times.

What to try: cache_read into shared memory and compute_at the loop over tiles; larger tiles re-use
more.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.extents import evaluate
from explorer.analysis.kernel import requests
from explorer.analysis.limits import SECTOR_BYTES
from explorer.analysis.memory import global_pattern
from explorer.findings.base import Context, finding
from explorer.findings.launches import launches
from explorer.model.nest import Function
from explorer.model.result import Finding

CODE = "redundant_loads"
TITLE = "Global memory is loaded many times over"
MANY = 8


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel and buffer that is loaded more than 8 times its size."""
    for launch in launches(ctx):
        if launch.kernel is None:
            continue
        moved: dict[str, float] = {}
        for access in launch.kernel.accesses:
            pattern = global_pattern(access) if access.is_global and access.kind == "load" else None
            if pattern is not None and pattern.pattern != "data-dependent":
                count = requests(launch.kernel, access) * pattern.sectors * SECTOR_BYTES
                moved[access.buffer] = moved.get(access.buffer, 0.0) + count
        for name, count in moved.items():
            size = _size(launch.function, name, ctx)
            if size and size >= 4096 and count > MANY * size:
                yield finding(
                    CODE, "info" if count < 64 * size else "warning", launch.function, launch.node,
                    f"About {_bytes(count)} of {name} are requested, but it has {_bytes(size)}"
                    f"{ctx.assuming(launch.function)}: each byte {count / size:.0f} times.",
                    "Stage it through shared memory: cache_read and compute_at; larger tiles re-use"
                    " more.",
                    where=f"{launch.where}, {name}",
                )  # fmt: skip


def _size(function: Function, name: str, ctx: Context) -> int | None:
    import math

    for buffer in function.buffers:
        if buffer.name == name:
            if buffer.nbytes is not None:
                return buffer.nbytes
            sizes = [evaluate(size, ctx.sizes) for size in buffer.shape]
            if None in sizes:
                return None
            bits = "".join(c for c in buffer.dtype.split("_")[0] if c.isdigit()) or "8"
            return math.prod(s for s in sizes if s is not None) * int(bits) // 8
    return None


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1024
    return ""
