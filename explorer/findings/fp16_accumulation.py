"""What it is: a reduction adds up in float16 (or bfloat16, or an 8-bit float).

Why it matters: float16 has 11 bits: adding n terms loses up to n/2 units in the last place, and
sums over 65504 become infinite. The order of the schedule then shows in the result.

What to try: accumulate in float32 (T.Cast the operands, cast the result once).
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.nest import Iter
from explorer.model.result import Finding

CODE = "fp16_accumulation"
TITLE = "Accumulation in a narrow float"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per block that reduces in a 16- or 8-bit float."""
    from explorer.analysis.extents import evaluate

    for function, block, fact in ctx.blocks():
        for store in fact.stores:
            narrow = store.dtype.startswith(("float16", "bfloat16", "float8"))
            if narrow and fact.reduction and store.own:
                steps = 1
                for item in block.iters:
                    if _reduces(item):
                        steps *= evaluate(item.extent, ctx.sizes) or 1
                yield finding(
                    CODE, "info", function, block,
                    f"Block {block.name} accumulates {steps} terms in {store.dtype}"
                    f"{ctx.assuming(function)}.",
                    "Accumulate in float32 and cast the result once.",
                )  # fmt: skip
                break


def _reduces(item: Iter) -> bool:
    return item.kind == "reduction"
