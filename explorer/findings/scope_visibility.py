"""What it is: a thread reads elements that it can't see: another thread's local memory, another
block's shared memory, or global elements that another thread of the same kernel writes.

Why it matters: local memory belongs to a thread and shared memory to a block. Global memory is
seen by all, but a kernel has no barrier across blocks, so the reader may come first. The values
read are garbage or old.

What to try: a wider scope (local → shared), compute_at a loop that covers all elements read, or
two kernels instead of one.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.nest import Block
from explorer.model.result import Finding

CODE = "scope_visibility"
TITLE = "A buffer in a scope that its readers can't see"

_CURE = {
    "local": "Set its scope to shared, or let the reader use the same thread mapping.",
    "shared": "Compute the producer inside the block that reads it (compute_at).",
    "global": "Use two kernels, or compute the producer where it is read.",
}


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per buffer and reader."""
    for function in ctx.device_functions():
        fact = ctx.facts.get(function.name)
        nodes = {node.ref: node for node in function.nodes if isinstance(node, Block)}
        for read in fact.unseen if fact else ():
            element = ", ".join(str(i) for i in read.element)
            scope = read.scope.split(".")[0]
            yield finding(
                CODE, "error", function, nodes[read.reader],
                f"Block {read.reader.name} reads {read.buffer}[{element}], which is in {read.scope}"
                f" memory and is written by other {read.among} in block {read.writer.name}.",
                _CURE.get(scope, _CURE["global"]),
            )  # fmt: skip
