"""What it is: the threadIdx axes of a kernel multiply to more threads than a block may have, or
one axis is longer than CUDA allows (x 1024, y 1024, z 64; 1024 in all).

Why it matters: TVM writes __launch_bounds__ with that number and builds; the launch then fails on
every NVIDIA GPU.

What to try: split the bound loops so that the product of their extents is at most 1024 (128 or
256 is a good start), and keep the rest as serial loops or blocks.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.limits import GUIDE, MAX_BLOCK
from explorer.findings.base import Context, finding
from explorer.findings.launches import Launch, launches
from explorer.model.result import Finding

CODE = "threads_per_block"
TITLE = "More threads than a block may have"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per kernel that is too large in all or along an axis."""
    most = ctx.target.max_threads_per_block
    for launch in launches(ctx):
        threads = launch.threads
        if threads is not None and threads > most:
            shape = " x ".join(str(size) for size in launch.block if size != 1)
            sizes = ctx.assuming(launch.function)
            yield _found(launch, f"{threads} threads a block ({shape}){sizes}", most)
        for axis, size, limit in zip("xyz", launch.block, MAX_BLOCK, strict=True):
            if size is not None and limit < size and (threads or 0) <= most:
                yield _found(launch, f"threadIdx.{axis} has {size} threads", limit)


def _found(launch: Launch, what: str, limit: int) -> Finding:
    return finding(
        CODE, "error", launch.function, launch.node,
        f"{what}, but the limit is {limit} ({GUIDE}): the launch fails.",
        f"Split the loops bound to threadIdx so that their product is at most {limit}.",
        where=launch.where,
    )  # fmt: skip
