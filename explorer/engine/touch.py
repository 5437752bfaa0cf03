"""Walks TensorIR statements and gives every access with its buffer, index and condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from tvm import ir, tirx
from tvm.ir.prim import expr as prim

from explorer.engine.lanes import Array, Env, evaluate, op_name

BY_ADDRESS = ("address_of", "tvm_access_ptr")


class Use(NamedTuple):
    """One access: `index` per dimension (None where unknown), `where` it happens."""

    kind: Literal["load", "store", "address"]
    buffer: Any
    indices: tuple[Any, ...]
    index: tuple[Array | None, ...]
    where: Array
    sure: bool
    """`where` is known, not only an upper bound."""


def uses(node: Any, env: Env, where: Array, sure: bool = True) -> Iterator[Use]:
    """All accesses of a statement or expression; conditions narrow `where`."""
    if isinstance(node, tirx.SeqStmt):
        for part in node.seq:
            yield from uses(part, env, where, sure)
    elif isinstance(node, tirx.BufferStore):
        yield from uses(node.value, env, where, sure)
        for index in node.indices:
            yield from uses(index, env, where, sure)
        yield _use("store", node.buffer, node.indices, env, where, sure)
    elif isinstance(node, ir.TensorLoad):
        for index in node.indices:
            yield from uses(index, env, where, sure)
        yield _use("load", node.source, node.indices, env, where, sure)
    elif isinstance(node, tirx.Bind):
        yield from uses(node.value, env, where, sure)
        env.set(node.var, evaluate(node.value, env))
    elif isinstance(node, tirx.Evaluate):
        yield from uses(node.value, env, where, sure)
    elif isinstance(node, tirx.IfThenElse):
        yield from _branches(node.condition, node.then_case, node.else_case, env, where, sure)
    elif isinstance(node, ir.Call) and op_name(node) == "if_then_else":
        yield from _branches(node.args[0], node.args[1], node.args[2], env, where, sure)
    elif isinstance(node, ir.Call):
        for arg in node.args:
            if op_name(node) in BY_ADDRESS and isinstance(arg, ir.TensorLoad):
                yield _use("address", arg.source, arg.indices, env, where, sure)
            elif op_name(node) in BY_ADDRESS and isinstance(getattr(arg, "ty", None),
                                                            tirx.BufferType):
                yield _use("address", arg, (), env, where, sure)
            else:
                yield from uses(arg, env, where, sure)
    elif isinstance(node, prim.Let):
        inner = env.child()
        yield from uses(node.value, env, where, sure)
        inner.set(node.var, evaluate(node.value, env))
        yield from uses(node.body, inner, where, sure)
    elif isinstance(node, tirx.For):
        yield from uses(node.body, env.child(), where, False)
    else:
        for field in FIELDS:
            child = getattr(node, field, None)
            if isinstance(child, (ir.Expr, tirx.Stmt)) and not isinstance(child, ir.Op):
                yield from uses(child, env, where, sure)


FIELDS = ("a", "b", "value", "condition", "true_value", "false_value", "base", "body")


def _branches(
    condition: Any, yes: Any, no: Any, env: Env, where: Array, sure: bool
) -> Iterator[Use]:
    yield from uses(condition, env, where, sure)
    value = evaluate(condition, env)
    for branch, flip in ((yes, False), (no, True)):
        if branch is not None:
            narrowed = where if value is None else np.logical_and(where, value.astype(bool) ^ flip)
            yield from uses(branch, env.child(), narrowed, sure and value is not None)


def _use(
    kind: Literal["load", "store", "address"], buffer: Any, indices: Any, env: Env, where: Array,
    sure: bool,
) -> Use:  # fmt: skip
    values = tuple(evaluate(index, env) for index in indices)
    return Use(kind, buffer, tuple(indices), values, where, sure)
