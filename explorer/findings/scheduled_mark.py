"""What it is: the function carries tirx.is_scheduled but binds no loop (a stale mark), or it
binds loops and lacks the mark.

Why it matters: DefaultGPUSchedule and dlight skip a marked function without a word, so a stale
mark means no kernel. Without the mark they would schedule a finished function again. The old name
tir.is_scheduled is not honoured.

What to try: drop a stale attribute (sch.mod with attr removed, or in the text); a function you
have scheduled yourself can be marked.
"""

from __future__ import annotations

from collections.abc import Iterable

from explorer.findings.base import Context, finding
from explorer.model.result import Finding

CODE = "scheduled_mark"
TITLE = "tirx.is_scheduled is stale or missing"


def check(ctx: Context) -> Iterable[Finding]:
    """One finding per function whose mark is wrong."""
    for function in ctx.device_functions():
        kernels = bool(ctx.regions(function) or ctx.kernels_of(function.name))
        if function.scheduled and not kernels:
            yield finding(
                CODE, "warning", function, f"function {function.name}",
                "The function is marked tirx.is_scheduled but binds no loop: DefaultGPUSchedule and"
                " dlight skip it silently.",
                "Remove the attribute from T.func_attr.",
            )  # fmt: skip
        if kernels and function.name in ctx.came_bound and not function.scheduled:
            yield finding(
                CODE, "info", function, f"function {function.name}",
                "The module came with bound loops but without tirx.is_scheduled: automatic"
                " schedules will try to schedule it again.",
                'Add "tirx.is_scheduled": True to T.func_attr if it is finished.',
            )  # fmt: skip
        legacy = (getattr(ctx.scheduled[function.name], "attrs", None) or {}).get(
            "tir.is_scheduled"
        )
        if legacy:
            yield finding(
                CODE, "warning", function, f"function {function.name}",
                "The attribute tir.is_scheduled is the old name; TVM 0.27 does not honour it.",
                "Write tirx.is_scheduled.",
            )  # fmt: skip
