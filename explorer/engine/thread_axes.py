"""The thread axes of a module, read from TVM's own tree, for the rules of `primitives.axes`."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, s_tir, tirx

from explorer.engine.lanes import key
from explorer.errors import Refusal
from explorer.primitives.axes import BoundLoop, Uses, violations


def violations_in(mod: ir.IRModule, func: str) -> list[Refusal]:
    """What the thread axes of function `func` do that can never be right."""
    for var, function in mod.functions_items():
        if var.name_hint == func and isinstance(function, tirx.PrimFunc):
            return violations(_Axes().bound(function.body, {}, []))
    return []


_Known = dict[int, frozenset[str]]


class _Axes:
    """Numbers the bound loops and follows block iterators back to them."""

    def __init__(self) -> None:
        self.count = 0

    def bound(self, stmt: Any, known: _Known, uses: Uses) -> list[BoundLoop]:
        """The outermost bound loops of `stmt`; `uses` gets what each block in it depends on."""
        if isinstance(stmt, tirx.For):
            if stmt.thread_binding is None:
                return self.bound(stmt.body, known, uses)
            self.count += 1
            below: Uses = []
            own = str(self.count)
            inner = self.bound(stmt.body, {**known, key(stmt.loop_var): frozenset([own])}, below)
            uses += below
            extent = int(stmt.extent) if isinstance(stmt.extent, tirx.IntImm) else None
            tag, name = str(stmt.thread_binding.thread_tag), str(stmt.loop_var.name)
            return [BoundLoop(tag, extent, name, inner, own, below)]
        if isinstance(stmt, s_tir.SBlockRealize):
            if known:
                block = stmt.block
                values = [_depends(value, known) for value in stmt.iter_values]
                uses.append(frozenset().union(*values, _depends(stmt.predicate, known)))
                iters = [key(item.var) for item in block.iter_vars]
                known = {**known, **dict(zip(iters, values, strict=True))}
            return self.bound(stmt.block.body, known, uses)
        if isinstance(stmt, tirx.SeqStmt):
            return [loop for part in stmt.seq for loop in self.bound(part, known, uses)]
        found: list[BoundLoop] = []
        for name in ("body", "then_case", "else_case"):
            child = getattr(stmt, name, None)
            if child is not None:
                found += self.bound(child, known, uses)
        return found


def _depends(expr: Any, known: _Known) -> frozenset[str]:
    """The bound loops that the variables of `expr` lead to."""
    if isinstance(expr, tirx.IntImm):
        return frozenset()
    found: set[str] = set()
    tvm_ffi.structural_walk(expr, (tirx.Var, lambda var: found.update(known.get(key(var), ()))))
    return frozenset(found)
