"""Static checks on a scheduled module and its kernels: one file per check, found by folder."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from explorer.findings.base import Context
from explorer.model.result import Finding

CHECKS: dict[str, Any] = {}
"""Every check by its code; nothing else lists them."""

for _info in pkgutil.iter_modules(__path__):
    if _info.name == "document":
        continue  # a program of its own
    _module = importlib.import_module(f"{__name__}.{_info.name}")
    if hasattr(_module, "check"):
        CHECKS[_module.CODE] = _module

SEVERITIES = ("error", "warning", "info")

EXPECTED = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError,
    RecursionError,
)  # fmt: skip
"""What a check that does not know a construct raises; such a check must not hide the others."""


def run(ctx: Context) -> tuple[Finding, ...]:
    """All findings, errors first, then in the order of the functions and of the checks' names.

    A check that fails is itself a finding ("check_failed"): it is seen, and the others still run.
    """
    found: list[Finding] = []
    for code, module in CHECKS.items():
        try:
            found += module.check(ctx)
        except EXPECTED as failure:
            found.append(_failed(code, module.TITLE, failure))
    order = {func.name: place for place, func in enumerate(ctx.nest.functions)}
    return tuple(
        sorted(
            dict.fromkeys(found),
            key=lambda f: (
                SEVERITIES.index(f.severity),
                order.get(f.function, len(order)),
                f.code,
                f.node,
            ),
        )
    )


def _failed(code: str, title: str, failure: Exception) -> Finding:
    return Finding(
        code="check_failed",
        severity="warning",
        function="",
        where=f"check {code}",
        message=f"The check “{title}” could not finish: {type(failure).__name__}: {failure}",
        cure="The other checks ran. Treat this point as not checked.",
    )


__all__ = ["CHECKS", "EXPECTED", "Context", "run"]
