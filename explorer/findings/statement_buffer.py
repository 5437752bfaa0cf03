"""What it is: an s_tir function makes a buffer with T.alloc_buffer.

Why it matters: in 0.27 the name is a TIRx statement; the block's own allocation is called
T.sblock_alloc_buffer. Nothing complains, but set_scope, compute_at and dlight's reductions fail
on the buffer: it is not allocated by a block.

What to try: write T.sblock_alloc_buffer.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.nest import Block
from explorer.model.result import Finding

CODE = "statement_buffer"
TITLE = "T.alloc_buffer in an s_tir function"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per such buffer of a function with blocks."""
    for function in ctx.device_functions():
        fact = ctx.facts.get(function.name)
        if fact and any(isinstance(node, Block) for node in function.nodes):
            for name in fact.statement_buffers:
                yield finding(
                    CODE, "warning", function, f"buffer {name}",
                    f"Buffer {name} is made by T.alloc_buffer, which is a statement in TVM 0.27: no"
                    " block owns it, so set_scope, compute_at and dlight refuse it.",
                    "Write T.sblock_alloc_buffer instead.",
                )  # fmt: skip
