"""The thread axes of a module, read from TVM's own tree, for the rules of `primitives.axes`."""

from __future__ import annotations

from typing import Any

from tvm import ir, s_tir, tirx

from explorer.errors import Refusal
from explorer.primitives.axes import BoundLoop, violations


def violations_in(mod: ir.IRModule, func: str) -> list[Refusal]:
    """What the thread axes of function `func` do that can never be right."""
    for var, function in mod.functions_items():
        if var.name_hint == func and isinstance(function, tirx.PrimFunc):
            return violations(_bound(function.body))
    return []


def _bound(stmt: Any) -> list[BoundLoop]:
    if isinstance(stmt, tirx.For):
        inner = _bound(stmt.body)
        if stmt.thread_binding is None:
            return inner
        extent = int(stmt.extent) if isinstance(stmt.extent, tirx.IntImm) else None
        name = str(stmt.loop_var.name)
        return [BoundLoop(str(stmt.thread_binding.thread_tag), extent, name, inner)]
    if isinstance(stmt, s_tir.SBlockRealize):
        return _bound(stmt.block.body)
    if isinstance(stmt, tirx.SeqStmt):
        return [loop for part in stmt.seq for loop in _bound(part)]
    found: list[BoundLoop] = []
    for name in ("body", "then_case", "else_case"):
        child = getattr(stmt, name, None)
        if child is not None:
            found += _bound(child)
    return found
