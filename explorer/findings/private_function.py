"""What it is: a PrimFunc is private: it has no global_symbol.

Why it matters: only other functions of the module can call it; it can't be launched alone, and a
module of private functions alone fails with "does not have a corresponding C Type".

What to try: drop private=True, or give it a global_symbol in T.func_attr.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "private_function"
TITLE = "A private function can't be launched alone"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per private PrimFunc."""
    for function in ctx.device_functions():
        if function.private:
            callers = [f.name for f in ctx.nest.functions if function.name in f.calls]
            yield finding(
                CODE, "info", function, f"function {function.name}",
                "The function is private (no global_symbol): it can't be launched alone"
                + (f"; {', '.join(callers)} calls it." if callers else "."),
                "Drop private=True to launch it by name; for the build here it gets its own name.",
            )  # fmt: skip
