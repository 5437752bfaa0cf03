"""Which functions a strategy should leave alone, and why."""

from __future__ import annotations

from typing import Any

from tvm import ir, s_tir, tirx

from explorer.engine.extract import nest_of
from explorer.engine.places import _pre_order
from explorer.engine.unbound import nothing_to_do

SCHEDULED = "tirx.is_scheduled"


def chosen(mod: ir.IRModule, function: str) -> tuple[str, ...]:
    """The functions to work on: `function`, or all PrimFuncs when it is empty."""
    names = tuple(str(gv.name_hint) for gv, _ in mod.functions_items())
    return (function,) if function else names


def skip_reason(mod: ir.IRModule, name: str) -> str:
    """Why the function called `name` is not for an automatic GPU schedule; "" when it is."""
    found = {gv.name_hint: func for gv, func in mod.functions_items()}
    func = found.get(name)
    if func is None:
        return f"The module has no function {name}."
    if not isinstance(func, tirx.PrimFunc):
        return "It is a Relax function: it calls kernels and has no loops of its own."
    if is_host(func):
        return "Its own target is a CPU: it stays on the host."
    blocks, unbound = leaf_blocks(func)
    if blocks and not unbound:
        axes = ", ".join(sorted(bound_axes(func)))
        return f"It is scheduled already: every block runs on {axes}."
    if _has_empty_loop(func):
        shown = nest_of(mod, mod.script(show_meta=False)).function(name)
        return "" if shown is None else nothing_to_do(shown)
    return ""


def _has_empty_loop(func: Any) -> bool:
    found: list[Any] = []

    def visit(stmt: Any) -> None:
        if isinstance(stmt, tirx.For) and isinstance(stmt.extent, tirx.IntImm):
            found.append(int(stmt.extent.value))

    _pre_order(func.body, visit)
    return 0 in found


def note_of(func: Any) -> str:
    """What to say of a mark that does not fit: scheduled, but nothing is bound."""
    if marked(func) and not bound_axes(func):
        return (
            f"It carries {SCHEDULED} although nothing is bound: TVM's own passes would pass it "
            "over without a word. The mark was ignored."
        )
    return ""


def marked(func: Any) -> bool:
    """Does the function say that it is scheduled?"""
    return bool(func.attrs is not None and func.attrs.get(SCHEDULED, 0))


def is_host(func: Any) -> bool:
    """Does the function's own target say CPU?"""
    target = func.attrs.get("target") if func.attrs is not None else None
    return target is not None and "gpu" not in target.keys


def bound_axes(func: Any) -> set[str]:
    """The thread axes of all bound loops, and of launch_thread statements."""
    axes: set[str] = set()

    def visit(stmt: Any) -> None:
        if isinstance(stmt, tirx.For) and stmt.thread_binding is not None:
            axes.add(str(stmt.thread_binding.thread_tag))
        if isinstance(stmt, tirx.AttrStmt) and stmt.attr_key == "thread_extent":
            axes.add(str(stmt.node.thread_tag))

    _pre_order(func.body, visit)
    return axes


def leaf_blocks(func: Any) -> tuple[list[Any], list[Any]]:
    """Blocks without blocks inside, and those of them with no bound loop around; the root too
    when it is the only one."""
    leaves: list[Any] = []
    unbound: list[Any] = []

    def walk(stmt: Any, bound: bool) -> int:
        """How many blocks are in `stmt`."""
        if isinstance(stmt, s_tir.SBlockRealize):
            inner = walk(stmt.block.body, bound) + (
                walk(stmt.block.init, bound) if stmt.block.init is not None else 0
            )
            if not inner:
                leaves.append(stmt.block)
                if not bound:
                    unbound.append(stmt.block)
            return 1 + inner
        if isinstance(stmt, tirx.SeqStmt):
            return sum(walk(item, bound) for item in stmt.seq)
        if isinstance(stmt, tirx.For) and stmt.thread_binding is not None:
            bound = True
        if isinstance(stmt, tirx.AttrStmt) and stmt.attr_key == "thread_extent":
            bound = True
        return sum(
            walk(child, bound)
            for field in ("body", "then_case", "else_case")
            if isinstance(child := getattr(stmt, field, None), tirx.Stmt)
        )

    walk(func.body, False)
    return leaves, unbound
