"""Every access in a piece of TensorIR: its buffer, its index, and under which condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from tvm import ir, s_tir, tirx
from tvm.ir.prim import expr as prim

from explorer.engine.lanes import BINARY, Array, Env, evaluate, op_name

BY_ADDRESS = ("address_of", "tvm_access_ptr")
LEAVES = (prim.IntImm, prim.FloatImm, ir.Var, ir.StringImm, ir.Op, tirx.AllocBuffer,
          tirx.DeclBuffer, s_tir.SBlockRealize)  # fmt: skip
"""Nodes that touch no memory, and nested blocks, which are looked at by themselves."""
_CHILDREN: dict[type, tuple[str, ...]] = {
    prim.Cast: ("value",), prim.Not: ("a",), prim.Broadcast: ("value",), prim.Ramp: ("base",),
    prim.BitwiseNot: ("a",), prim.Select: ("condition", "true_value", "false_value"),
    tirx.Evaluate: ("value",), tirx.AttrStmt: ("body",), tirx.While: ("condition", "body"),
    tirx.AssertStmt: ("condition",),
    **dict.fromkeys(BINARY, ("a", "b")),
}  # fmt: skip


class Use:
    """One access.  `where` is where it happens; `sure` tells that this is not only a bound."""

    __slots__ = ("buffer", "env", "indices", "kind", "sure", "where")

    def __init__(
        self, kind: Literal["load", "store", "address"], buffer: Any, indices: Any, env: Env,
        where: Array, sure: bool,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.buffer = buffer
        self.indices = tuple(indices)
        self.env = env
        self.where = where
        self.sure = sure

    def index(self) -> tuple[Array | None, ...]:
        """The value of each index, None where it depends on data.  Ask while iterating."""
        return tuple(evaluate(index, self.env) for index in self.indices)


def uses(node: Any, env: Env, where: Array, sure: bool = True) -> Iterator[Use]:
    """All accesses of a statement or expression, loads before the store; conditions narrow `where`.

    Loops inside are not run: their variables have no value.
    """
    kind = type(node)
    if kind in LEAVES:
        return
    if kind in _CHILDREN:
        for field in _CHILDREN[kind]:
            yield from uses(getattr(node, field), env, where, sure)
    elif kind is tirx.SeqStmt:
        for part in node.seq:
            yield from uses(part, env, where, sure)
    elif kind is tirx.BufferStore:
        yield from uses(node.value, env, where, sure)
        for index in node.indices:
            yield from uses(index, env, where, sure)
        yield Use("store", node.buffer, node.indices, env, where, sure)
    elif kind is ir.TensorLoad:
        for index in node.indices:
            yield from uses(index, env, where, sure)
        yield Use("load", node.source, node.indices, env, where, sure)
    elif kind is ir.Call:
        yield from _call(node, env, where, sure)
    elif kind is tirx.Bind:
        yield from uses(node.value, env, where, sure)
        env.set(node.var, evaluate(node.value, env))
    elif kind is tirx.IfThenElse:
        yield from _branches(node.condition, node.then_case, node.else_case, env, where, sure)
    elif kind is prim.Let:
        yield from uses(node.value, env, where, sure)
        inner = env.child()
        inner.set(node.var, evaluate(node.value, env))
        yield from uses(node.body, inner, where, sure)
    elif kind is tirx.For:
        inner = env.child()
        inner.set(node.loop_var, None)
        yield from uses(node.body, inner, where, False)


def _call(call: Any, env: Env, where: Array, sure: bool) -> Iterator[Use]:
    name = op_name(call)
    if name == "if_then_else":
        yield from _branches(call.args[0], call.args[1], call.args[2], env, where, sure)
        return
    for arg in call.args:
        # The address is taken, not the value: the intrinsic itself touches memory.
        if name in BY_ADDRESS and type(arg) is ir.TensorLoad:
            yield Use("address", arg.source, arg.indices, env, where, sure)
        elif name in BY_ADDRESS and tirx.is_buffer_var(arg):
            yield Use("address", arg, (), env, where, sure)
        else:
            yield from uses(arg, env, where, sure)


def _branches(
    condition: Any, yes: Any, no: Any, env: Env, where: Array, sure: bool
) -> Iterator[Use]:
    yield from uses(condition, env, where, sure)
    value = evaluate(condition, env)
    for branch, flip in ((yes, False), (no, True)):
        if branch is not None:
            narrowed = where if value is None else np.logical_and(where, value.astype(bool) ^ flip)
            yield from uses(branch, env.child(), narrowed, sure and value is not None)
