"""Why TVM can't rearrange blocks or run them in parallel: what is to blame, in words."""

from __future__ import annotations

from typing import Any

from tvm import s_tir, tirx


def why_not_pipeline(scope: s_tir.SBlock) -> str:
    """The first block of `scope` that keeps it from being a stage pipeline, as a sentence.

    Empty when none of the usual reasons is found.
    """
    blocks, other = _children(scope.body)
    if other:
        return "Statements outside any block are in between."
    read_before: dict[int, str] = {}
    for block in blocks:
        reads = {_key(region.source): str(region.source.name) for region in block.reads}
        for region in block.writes:
            key, name = _key(region.source), str(region.source.name)
            if key in reads:
                return f"Block {block.name_hint} both reads and writes {name}."
            if key in read_before:
                return f"Block {block.name_hint} writes {name} after {read_before[key]} read it."
        for key in reads:
            read_before.setdefault(key, str(block.name_hint))
    return ""


def why_not_parallel(block: s_tir.SBlock) -> tuple[str, str]:
    """What keeps TVM from taking `block` as complete or as a reduction, and what would help."""
    for var in block.iter_vars:
        if int(var.iter_type) not in (tirx.IterVar.DataPar, tirx.IterVar.CommReduce):
            name = var.var.name
            return (
                f"has the opaque iterator {name}",
                f"Declare {name} with T.axis.spatial if its iterations are independent.",
            )
    return (
        "accumulates without T.init()",
        "Add `with T.init():` with the initial value to the block.",
    )


def _children(stmt: Any) -> tuple[list[Any], bool]:
    """The blocks directly in a scope, and whether anything but loops and blocks is there."""
    if isinstance(stmt, s_tir.SBlockRealize):
        return [stmt.block], False
    if isinstance(stmt, tirx.For):
        return _children(stmt.body)
    if isinstance(stmt, tirx.SeqStmt):
        found = [_children(part) for part in stmt.seq]
        return [block for blocks, _ in found for block in blocks], any(bad for _, bad in found)
    return [], True


def _key(obj: Any) -> int:
    return int(obj.__chandle__())
