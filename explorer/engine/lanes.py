"""Integer expressions of a kernel, evaluated for many threads at once with NumPy.

Every value has three axes: sample, thread, vector element; an axis of length 1 stands for "the
same for all".  What depends on memory has no value here (None).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import ir
from tvm.ir.prim import expr as prim

Array = npt.NDArray[Any]


def key(obj: Any) -> int:
    """Identity of a TVM object; two Python wrappers of one object give the same key."""
    return int(obj.__chandle__())


class Env:
    """Values of variables.  `rows` is the current length of the sample axis.

    `sizes` are values by name, for variables that were not set.
    """

    def __init__(self, rows: int, sizes: Mapping[str, int] | None = None) -> None:
        self.rows = rows
        self.sizes = sizes or {}
        self.values: dict[int, Array | None] = {}

    def set(self, var: Any, value: Array | None) -> None:
        """Give a variable its value (None: it depends on data)."""
        self.values[key(var)] = value

    def get(self, var: Any) -> Array | None:
        """The value of a variable, None when it has none."""
        at = key(var)
        if at in self.values:
            return self.values[at]
        size = self.sizes.get(str(var.name))
        return None if size is None else scalar(size)

    def child(self) -> Env:
        """A scope below this one; what is set in it does not come back."""
        twin = Env(self.rows, self.sizes)
        twin.values = dict(self.values)
        return twin

    def repeat(self, times: int) -> Env:
        """Every sample `times` times in a row, to enumerate a loop."""
        twin = Env(self.rows * times, self.sizes)
        twin.values = {k: spread(v, times) for k, v in self.values.items()}
        return twin


def spread(value: Array | None, times: int) -> Array | None:
    """Repeat the samples of one value, if it differs between them."""
    if value is None or value.shape[0] == 1:
        return value
    return np.repeat(value, times, axis=0)


def scalar(value: int | float | bool) -> Array:
    """One value for all samples and threads."""
    return np.array(value).reshape(1, 1, 1)


def _floordiv(a: Array, b: Array) -> Array:
    return np.floor_divide(a, np.where(b == 0, 1, b))


def _floormod(a: Array, b: Array) -> Array:
    return np.mod(a, np.where(b == 0, 1, b))


def _truncdiv(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return np.divide(a, np.where(b == 0, 1, b))
    return np.sign(a) * np.sign(b) * _floordiv(np.abs(a), np.abs(b))


def _truncmod(a: Array, b: Array) -> Array:
    return a - _truncdiv(a, b) * b


BINARY: dict[type, Callable[[Array, Array], Array]] = {
    prim.Add: np.add, prim.Sub: np.subtract, prim.Mul: np.multiply, prim.Div: _truncdiv,
    prim.Mod: _truncmod, prim.FloorDiv: _floordiv, prim.FloorMod: _floormod,
    prim.Min: np.minimum, prim.Max: np.maximum, prim.EQ: np.equal, prim.NE: np.not_equal,
    prim.LT: np.less, prim.LE: np.less_equal, prim.GT: np.greater, prim.GE: np.greater_equal,
    prim.And: np.logical_and, prim.Or: np.logical_or, prim.LShift: np.left_shift,
    prim.RShift: np.right_shift, prim.BitwiseAnd: np.bitwise_and,
    prim.BitwiseOr: np.bitwise_or, prim.BitwiseXor: np.bitwise_xor,
}  # fmt: skip
_CALLS: dict[str, Callable[[Array, Array], Array]] = {
    "shift_right": np.right_shift, "shift_left": np.left_shift, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "truncmod": _truncmod,
    "truncdiv": _truncdiv, "floordiv": _floordiv, "floormod": _floormod,
}  # fmt: skip


def evaluate(expr: Any, env: Env) -> Array | None:
    """The value of an expression, or None where it depends on memory or on an unknown variable."""
    kind = type(expr)
    if kind is prim.IntImm:
        return scalar(int(expr.value))
    if kind is ir.Var:
        return env.get(expr)
    operation = BINARY.get(kind)
    if operation is not None:
        return _both(operation, evaluate(expr.a, env), evaluate(expr.b, env), expr)
    if kind is prim.FloatImm:
        return scalar(float(expr.value))
    if kind in (prim.Cast, prim.Broadcast):
        return evaluate(expr.value, env)
    if kind is prim.Not:
        inner = evaluate(expr.a, env)
        return None if inner is None else np.logical_not(inner)
    if kind is prim.Select:
        return _choose(expr.condition, expr.true_value, expr.false_value, env)
    if kind is prim.Ramp:
        base, stride = evaluate(expr.base, env), evaluate(expr.stride, env)
        if base is None or stride is None:
            return None
        return base + stride * np.arange(int(expr.lanes)).reshape(1, 1, -1)
    if kind is prim.Let:
        inner_env = env.child()
        inner_env.set(expr.var, evaluate(expr.value, env))
        return evaluate(expr.body, inner_env)
    return _call(expr, env) if kind is ir.Call else None


def _both(operation: Callable[[Array, Array], Array], a: Array | None, b: Array | None,
          expr: Any) -> Array | None:  # fmt: skip
    """Combine two values; a known operand decides `and`/`or` when the other is unknown."""
    if a is not None and b is not None:
        return operation(a, b)
    known = a if a is not None else b
    if known is None:
        return None
    if isinstance(expr, prim.And) and not known.any():
        return known
    if isinstance(expr, prim.Or) and known.all():
        return known
    return None


def _choose(condition: Any, yes: Any, no: Any, env: Env) -> Array | None:
    where, a, b = evaluate(condition, env), evaluate(yes, env), evaluate(no, env)
    if where is None or a is None or b is None:
        return None
    return np.where(where, a, b)


def op_name(call: Any) -> str:
    """The name of a call's operator without its namespace, "" when it calls something else."""
    name = getattr(call.op, "name", "") or getattr(call.op, "name_hint", "")
    return str(name).rsplit(".", 1)[-1]


def _call(call: Any, env: Env) -> Array | None:
    name = op_name(call)
    if name == "if_then_else":
        return _choose(call.args[0], call.args[1], call.args[2], env)
    if name in ("likely", "tvm_thread_invariant"):
        return evaluate(call.args[0], env)
    if name == "bitwise_not":
        value = evaluate(call.args[0], env)
        return None if value is None else np.bitwise_not(value)
    if name in _CALLS:
        return _both(_CALLS[name], evaluate(call.args[0], env), evaluate(call.args[1], env), call)
    return None


def single(expr: Any, env: Env) -> int | None:
    """The one value of an expression, None when it is unknown or differs between threads."""
    value = evaluate(expr, env)
    if value is None or value.size != 1:
        return None
    return int(value.reshape(()))
