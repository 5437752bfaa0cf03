"""Other names for the blocks of a function, and the old ones back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import s_tir, tirx


def unique(names: list[str]) -> Callable[[str], str]:
    """Numbers the blocks in pre-order; `names` keeps what they were called."""

    def renamed(name: str) -> str:
        names.append(name)
        return f"{name}__{len(names) - 1}"

    return renamed


def restored(names: list[str]) -> Callable[[str], str]:
    """Gives the blocks that `unique` numbered their names back; others keep theirs."""

    def renamed(name: str) -> str:
        _, _, number = name.rpartition("__")
        return names[int(number)] if number.isdigit() and int(number) < len(names) else name

    return renamed


def rename(stmt: Any, name_of: Callable[[str], str]) -> Any:
    """`stmt` with every block renamed, in pre-order."""
    if isinstance(stmt, s_tir.SBlockRealize):
        block = stmt.block
        name = name_of(block.name_hint)
        init = None if block.init is None else rename(block.init, name_of)
        body = rename(block.body, name_of)
        return s_tir.SBlockRealize(
            stmt.iter_values,
            stmt.predicate,
            s_tir.SBlock(
                block.iter_vars, block.reads, block.writes, name, body, init,
                block.alloc_buffers, block.match_buffers, block.annotations,
            ),
        )  # fmt: skip
    if isinstance(stmt, tirx.SeqStmt):
        return tirx.SeqStmt([rename(item, name_of) for item in stmt.seq])
    if isinstance(stmt, tirx.For):
        return tirx.For(
            stmt.loop_var, stmt.min, stmt.extent, stmt.kind, rename(stmt.body, name_of),
            stmt.thread_binding, stmt.annotations, stmt.step,
        )  # fmt: skip
    if isinstance(stmt, tirx.IfThenElse):
        other = None if stmt.else_case is None else rename(stmt.else_case, name_of)
        return tirx.IfThenElse(stmt.condition, rename(stmt.then_case, name_of), other)
    if isinstance(stmt, tirx.AttrStmt):
        return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, rename(stmt.body, name_of))
    return stmt


def under_root(body: Any) -> Any:
    """`body`, itself a block, inside a root block that does nothing else."""
    return s_tir.SBlockRealize([], True, s_tir.SBlock([], [], [], "root", body))


def unwrap(body: Any) -> Any:
    """Without the unit loop that the pass put around the root block."""
    outer: Any = body.block if isinstance(body, s_tir.SBlockRealize) else None
    loop = outer.body if outer is not None else None
    if not isinstance(loop, tirx.For) or loop.thread_binding is not None:
        return body
    inner: Any = loop.body.block if isinstance(loop.body, s_tir.SBlockRealize) else None
    if inner is None or outer.name_hint != "root" or not inner.name_hint.endswith("__0"):
        return body
    return s_tir.SBlockRealize(
        [],
        True,
        s_tir.SBlock(
            [], outer.reads, outer.writes, inner.name_hint, inner.body, inner.init,
            inner.alloc_buffers, inner.match_buffers, inner.annotations,
        ),
    )  # fmt: skip
