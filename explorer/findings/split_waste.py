"""What it is: a loop was split by a factor that does not divide it, so the parts run past its end
and a guard (T.where) turns the rest off.

Why it matters: the threads or iterations past the end do nothing: their share of the time is
lost, and every iteration pays for the test. A barrier must not stand under such a guard.

What to try: a factor that divides the extent, or pad the buffers.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.analysis.extents import evaluate
from explorer.analysis.guards import comparisons, names
from explorer.analysis.nests import loops_on_path
from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "split_waste"
TITLE = "A split that does not divide"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per uneven split of a function, at the first block that has it."""
    seen: set[tuple[str, int, int]] = set()
    for function, block, _ in ctx.blocks():
        loops = {loop.name: ctx.extent(loop) for loop in loops_on_path(function, block)}
        for value, limit in comparisons(block.predicate or ""):
            end = evaluate(limit, ctx.sizes)
            used = [name for name in names(value) if name in loops]
            last = {name: (loops[name] or 1) - 1 for name in used}
            top = evaluate(value, {**ctx.sizes, **last})
            if end is None or top is None or not 0 < end <= top:
                continue
            total = top + 1
            if (function.name, end, total) in seen:
                continue
            seen.add((function.name, end, total))
            # What one step of the outermost loop adds is the tile.
            step = {name: int(place == 0) for place, name in enumerate(used)}
            tile = evaluate(value, {**ctx.sizes, **step})
            parts = f"{total // tile} x {tile} = " if tile and total % tile == 0 else ""
            by = f" by {tile}" if parts else ""
            waste = 100 * (total - end) / total
            share = f"{waste:.2g}" if waste < 99 else f"{waste:.3g}"
            yield finding(
                CODE, "warning" if waste >= 10 else "info", function, block,
                f"split {end}{by} -> {parts}{total} ({share} % wasted) in block"
                f" {block.name}{ctx.assuming(function)}.",
                f"Choose a factor that divides {end}.",
                where=f"block {block.name}, {value} < {limit}",
            )  # fmt: skip
