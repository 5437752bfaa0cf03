"""What it is: a buffer has 2^31 elements or more and its index is computed in int32, or loops
whose product is over 2^31 were fused.

Why it matters: the product wraps around. TVM builds a kernel that covers a part of the tensor, or
writes to negative addresses, without an error.

What to try: use int64 loop variables (T.int64 extents), and do not fuse all loops into one.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.extents import evaluate
from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "index_overflow"
TITLE = "Index arithmetic past 2^31"
MOST = 2**31 - 1


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block and large buffer with 32-bit iterators."""
    for function, block, fact in ctx.blocks():
        if "int32" not in fact.index_dtypes:
            continue
        used = {touch.buffer for touch in fact.loads} | {s.target.buffer for s in fact.stores}
        for buffer in function.buffers:
            sizes = [evaluate(size, ctx.sizes) for size in buffer.shape]
            count = 1
            for size in sizes:
                count *= size or 1
            if buffer.name in used and count > MOST:
                yield finding(
                    CODE, "error", function, block,
                    f"Buffer {buffer.name} has {count} elements{ctx.assuming(function)} and block"
                    f" {block.name} indexes it with int32, which ends at {MOST}.",
                    "Use T.int64 extents for these loops.",
                    where=f"buffer {buffer.name}, block {block.name}",
                )  # fmt: skip
                break
