"""What it is: a Relax function calls an operator that has no PrimFunc yet, such as R.power.

Why it matters: there is nothing to schedule for it: no kernel is made until LegalizeOps turns the
operator into a PrimFunc.

What to try: run relax.transform.LegalizeOps() on the module, then load the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "relax_operator"
TITLE = "A Relax operator without a PrimFunc"

_FINE = ("relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed", "relax.shape_of",
         "relax.null_value", "relax.builtin", "relax.memory", "relax.vm", "relax.match_cast",
         "relax.call_builtin", "relax.print", "relax.assert_op")  # fmt: skip


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per operator and Relax function."""
    for function in ctx.nest.functions:
        if function.kind == "relax":
            for name in _operators(ctx.scheduled[function.name]):
                short = name.replace("relax.", "R.")
                yield finding(
                    CODE, "warning", function, f"call {short}",
                    f"{short} has no PrimFunc: it is no kernel, and nothing can be scheduled, until"
                    " LegalizeOps runs.",
                    "Run relax.transform.LegalizeOps() and load the result.",
                )  # fmt: skip


def _operators(func: Any) -> list[str]:
    from tvm import ir, relax

    found: dict[str, None] = {}

    def visit(expr: Any) -> None:
        if isinstance(expr, ir.Call) and isinstance(expr.op, ir.Op):
            name = str(expr.op.name)
            if name.startswith("relax.") and not name.startswith(_FINE):
                found[name] = None

    relax.analysis.post_order_visit(func.body, visit)
    return list(found)
