"""Facts about the blocks of a PrimFunc: what each stores, loads and computes per iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir.prim import expr as prim

from explorer.analysis.blocks import BlockFacts, Store, Touch
from explorer.engine.lanes import Env, key, op_name, single
from explorer.engine.touch import uses
from explorer.model.refs import BlockRef

_ARITHMETIC = (
    prim.Add, prim.Sub, prim.Mul, prim.Div, prim.Max, prim.Min,
)  # fmt: skip
_NO_FLOPS = ("if_then_else", "reinterpret", "likely", "address_of", "tvm_access_ptr")


@dataclass(frozen=True, eq=False)
class Leaf:
    """A block that holds no other block, and what is around it, outermost first."""

    ref: BlockRef
    realize: Any
    around: tuple[Any, ...]
    """Loops (For) and enclosing blocks (SBlockRealize), outermost first, root left out."""

    @property
    def block(self) -> Any:
        """TVM's block."""
        return self.realize.block

    @property
    def loops(self) -> tuple[Any, ...]:
        """The loops around, outermost first."""
        return tuple(node for node in self.around if isinstance(node, tirx.For))


def leaves(func: tirx.PrimFunc, name: str) -> list[Leaf]:
    """The computing blocks of a PrimFunc, in pre-order."""
    seen: Counter[str] = Counter()
    return list(_leaves(func.body, name, (), seen, func.body))


def _leaves(
    stmt: Any, name: str, around: tuple[Any, ...], seen: Counter[str], root: Any
) -> Iterator[Leaf]:
    if isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            yield from _leaves(part, name, around, seen, root)
    elif isinstance(stmt, s_tir.SBlockRealize):
        block = stmt.block
        ref = BlockRef(str(block.name_hint), seen[block.name_hint], name)
        seen[block.name_hint] += 1
        is_root = stmt.same_as(root)
        inner = around if is_root else (*around, stmt)
        below = [] if block.init is None else list(_leaves(block.init, name, inner, seen, root))
        below += _leaves(block.body, name, inner, seen, root)
        if below or (is_root and not block.iter_vars and not block.reads and not block.writes):
            yield from below
        else:
            yield Leaf(ref, stmt, around)
    elif isinstance(stmt, tirx.For):
        yield from _leaves(stmt.body, name, (*around, stmt), seen, root)
    else:
        for field in ("then_case", "else_case", "body"):
            child = getattr(stmt, field, None)
            if child is not None:
                yield from _leaves(child, name, around, seen, root)


def facts(leaf: Leaf, env: Env) -> BlockFacts:
    """The facts of one block; `env` knows the user's sizes."""
    block = leaf.block
    names = {key(item.var): str(item.var.name) for item in block.iter_vars}
    kinds = {
        str(item.var.name): int(item.iter_type) for item in block.iter_vars
        if single(item.dom.extent, env) != 1
    }  # fmt: skip
    stores, loads = _accesses(block.body, names)
    return BlockFacts(
        ref=leaf.ref,
        spatial=frozenset(name for name, kind in kinds.items() if kind == 0),
        reduction=frozenset(name for name, kind in kinds.items() if kind == 2),
        stores=tuple(stores),
        loads=tuple(loads),
        has_init=block.init is not None,
        index_dtypes=frozenset(str(item.var.ty) for item in block.iter_vars),
        flops=_flops(block.body, env),
        twice=tuple(_twice(leaf, env)),
    )


def _twice(leaf: Leaf, env: Env) -> Iterator[tuple[str, str, str]]:
    """Pairs of loops on one axis that both reach the block's iterators.

    A cooperative load under a bound loop repeats an axis too, but uses the inner loop only.
    """
    values: dict[int, Any] = {}
    for node in (*leaf.around, leaf.realize):
        if not isinstance(node, tirx.For):
            for item, value in zip(node.block.iter_vars, node.iter_values, strict=True):
                values[key(item.var)] = value
    used: set[int] = set()
    waiting = list(leaf.realize.iter_values)
    while waiting:
        for var in _variables(waiting.pop()):
            if key(var) not in used:
                used.add(key(var))
                if key(var) in values:
                    waiting.append(values[key(var)])
    first: dict[str, Any] = {}
    for loop in leaf.loops:
        axis = axis_of(loop)
        if axis and key(loop.loop_var) in used and single(loop.extent, env) != 1:
            if axis in first:
                yield axis, str(first[axis].loop_var.name), str(loop.loop_var.name)
            first.setdefault(axis, loop)


def axis_of(loop: Any) -> str:
    """The GPU axis of a loop, "" when it has none."""
    thread = loop.thread_binding
    tag = str(thread.thread_tag) if thread is not None else ""
    return tag if tag.startswith(("blockIdx", "threadIdx")) else ""


def _variables(expr: Any) -> list[Any]:
    found: list[Any] = []
    tvm_ffi.structural_walk(expr, (ir.Var, found.append))
    return found


def _accesses(body: Any, names: dict[int, str]) -> tuple[list[Store], list[Touch]]:
    stores: list[Store] = []
    loads: list[Touch] = []
    pending: list[Touch] = []
    for use in uses(body, Env(1), np.ones((1, 1, 1), bool)):
        touch = Touch(
            buffer=str(use.buffer.name),
            identity=key(use.buffer),
            index=tuple(str(index) for index in use.indices),
            iters=tuple(frozenset(_names(index, names)) for index in use.indices),
        )
        if use.kind == "store":
            stores.append(
                Store(
                    target=touch, dtype=str(use.buffer.dtype), scope=str(use.buffer.scope()),
                    loads=tuple(pending),
                )
            )  # fmt: skip
            pending = []
        elif use.kind == "load":
            loads.append(touch)
            pending.append(touch)
    return stores, loads


def _names(expr: Any, names: dict[int, str]) -> Iterator[str]:
    found: list[str] = []

    def visit(var: Any) -> None:
        if key(var) in names:
            found.append(names[key(var)])

    tvm_ffi.structural_walk(expr, (ir.Var, visit))
    yield from found


def is_float(expr: Any) -> bool:
    """The expression is floating point."""
    return "float" in str(getattr(expr, "ty", ""))


def _flops(node: Any, env: Env) -> float:
    """Floating-point operations of one run: + - * / min max and each math function as one."""
    if isinstance(node, tirx.SeqStmt):
        return sum(_flops(part, env) for part in node.seq)
    if isinstance(node, tirx.For):
        return (single(node.extent, env) or 1) * _flops(node.body, env)
    if isinstance(node, tirx.BufferStore):
        return _flops(node.value, env)
    if isinstance(node, tirx.Bind):
        return _flops(node.value, env)
    if isinstance(node, tirx.IfThenElse):
        # A bound: the cheaper way through.
        no = 0.0 if node.else_case is None else _flops(node.else_case, env)
        return min(_flops(node.then_case, env), no)
    if isinstance(node, prim.Select):
        return min(_flops(node.true_value, env), _flops(node.false_value, env))
    if isinstance(node, ir.Call):
        if op_name(node) == "if_then_else":
            return min(_flops(node.args[1], env), _flops(node.args[2], env))
        own = 1.0 if is_float(node) and op_name(node) not in _NO_FLOPS else 0.0
        return own + sum(_flops(arg, env) for arg in node.args if is_float(arg))
    if isinstance(node, _ARITHMETIC):
        own = 1.0 if is_float(node) else 0.0
        return own + _flops(node.a, env) + _flops(node.b, env)
    if isinstance(node, prim.Cast):
        return _flops(node.value, env)
    return 0.0
