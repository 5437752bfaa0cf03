"""Where blocks and loops are in a schedule: in source order, by name, and around one another."""

from __future__ import annotations

from typing import Any

from tvm import s_tir, tirx
from tvm.s_tir.schedule import _ffi_api

from explorer.errors import StepRefused
from explorer.model.refs import BlockRef


def sref_of(sch: s_tir.Schedule, rv: Any) -> Any:
    """`sch.get_sref(rv)` without its check of Python types, which costs ten times the call."""
    return _ffi_api.ScheduleGetSRef(sch, rv)


def all_blocks(sch: s_tir.Schedule, func: str) -> list[Any]:
    """Every block of function `func` in pre-order, the root block first.

    Blocks inside T.init() are left out: they are no part of TVM's schedule tree.

    Raises StepRefused when the module has no such PrimFunc.
    """
    for var, function in sch.mod.functions_items():
        if var.name_hint == func and isinstance(function, tirx.PrimFunc):
            break
    else:
        raise StepRefused(f"The module has no function {func} that can be scheduled.")
    found: list[Any] = []

    def visit(stmt: Any) -> None:
        if isinstance(stmt, s_tir.SBlock):
            found.append(stmt)

    _pre_order(function.body, visit)
    return found


def blocks_named(sch: s_tir.Schedule, func: str, name: str) -> list[Any]:
    """The blocks of `func` called `name`, in pre-order."""
    return [block for block in all_blocks(sch, func) if block.name_hint == name]


def loops_around(sref: Any) -> list[Any]:
    """The loop srefs around a block up to the enclosing block, outermost first."""
    loops: list[Any] = []
    up = sref.parent
    while up is not None and not isinstance(up.stmt, s_tir.SBlock):
        loops.insert(0, up)
        up = up.parent
    return loops


def block_ref(sch: s_tir.Schedule, func: str, sref: Any) -> BlockRef:
    """The reference of the block at `sref`."""
    name = str(sref.stmt.name_hint)
    same = blocks_named(sch, func, name)
    nth = next(n for n, block in enumerate(same) if sref_of(sch, block).same_as(sref))
    return BlockRef(name, nth, func)


def _pre_order(stmt: Any, visit: Any) -> None:
    """Statements in source order (tirx's own visitors are post-order)."""
    visit(stmt)
    if isinstance(stmt, s_tir.SBlockRealize):
        _pre_order(stmt.block, visit)
        return
    if isinstance(stmt, tirx.SeqStmt):
        for item in stmt.seq:
            _pre_order(item, visit)
        return
    if isinstance(stmt, (tirx.For, s_tir.SBlock)):
        _pre_order(stmt.body, visit)
        return
    for field in ("body", "then_case", "else_case"):
        child = getattr(stmt, field, None)
        if child is not None and isinstance(child, tirx.Stmt):
            _pre_order(child, visit)
