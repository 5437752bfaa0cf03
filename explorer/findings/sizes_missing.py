"""What it is: a symbolic size has no value, so launch and accesses can't be evaluated.

Why it matters: limits, coalescing and occupancy are checked for numbers. Without a value they are
not checked.

What to try: give the size a value in the form of sizes, or --size n=128.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "sizes_missing"
TITLE = "A symbolic size has no value"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per function with unknown sizes and a kernel."""
    for function in ctx.device_functions():
        open_sizes = [name for name in function.symbols if name not in ctx.sizes]
        if open_sizes and ctx.kernels_of(function.name):
            yield finding(
                CODE, "info", function, f"function {function.name}",
                f"{', '.join(open_sizes)} {'has' if len(open_sizes) == 1 else 'have'} no value:"
                " checks that need a number were left out.",
                f"Give a size, e.g. {open_sizes[0]}=128.",
            )  # fmt: skip
