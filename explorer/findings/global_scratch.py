"""What it is: a buffer that the function allocates is written and read inside one kernel, and has
the global scope.

Why it matters: a kernel can't allocate device memory; TVM stops with "Cannot allocate global
memory when targeting CUDA", which names no buffer.

What to try: set_scope to "shared" when the threads of a block share it, to "local" when each
thread keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "global_scratch"
TITLE = "A global scratch buffer inside a kernel"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per allocated global buffer that only one kernel uses."""
    for function in ctx.device_functions():
        scratch = {b.name for b in function.buffers if not b.param and b.scope == "global"}
        for name in sorted(scratch):
            users = [
                node for node in _blocks(ctx, function.name)
                if any(access.buffer == name for access in (*node.reads, *node.writes))
            ]  # fmt: skip
            for region in ctx.regions(function):
                inside = [b for b in users if b.id.startswith(region.root.id + "/")]
                if inside and len(inside) == len(users):
                    yield finding(
                        CODE, "error", function, inside[0],
                        f"Buffer {name} is scratch of one kernel but lies in global memory, which a"
                        " kernel can't allocate.",
                        f"sch.set_scope({inside[0].name}, 0, \"shared\") (or \"local\" if each"
                        " thread keeps its own).",
                        where=f"buffer {name}",
                    )  # fmt: skip


def _blocks(ctx: Context, function: str):  # type: ignore[no-untyped-def]
    from explorer.analysis.nests import leaf_blocks

    nest = ctx.nest.function(function)
    return [] if nest is None else list(leaf_blocks(nest))
