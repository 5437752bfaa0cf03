"""Simple constants of a text, worked out without running it.

A small evaluator over the syntax tree: numbers, strings, tuples, arithmetic and a few builtins,
all bounded.  What it does not know is not a constant, with the reason.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from explorer.dialect.code import dotted

MAX_BITS = 128
MAX_ITEMS = 4096


class NotConstant(Exception):
    """Why an expression has no value that can be known without running it."""


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
CALLS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "int": int,
    "float": float,
    "bool": bool,
    "round": round,
    "len": len,
    "sum": sum,
    "tuple": tuple,
    "list": list,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "math.log2": math.log2,
    "math.gcd": math.gcd,
    "math.prod": math.prod,
}
_VALUES = {"math.pi": math.pi, "math.inf": math.inf}


def evaluate(node: ast.expr, known: dict[str, Any]) -> Any:
    """The value of an expression over `known` names.  Raises NotConstant with the reason."""
    try:
        return _bounded(_evaluate(node, known))
    except (ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise NotConstant(f"it can't be worked out ({error})") from error


def is_constant(node: ast.expr) -> bool:
    """The expression has a value that needs no names."""
    try:
        evaluate(node, {})
    except NotConstant:
        return False
    return True


def show(value: Any) -> str:
    """A constant as Python text that can stand anywhere an operand can."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, tuple):
        return f"({', '.join(show(item) for item in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(show(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            raise NotConstant("it is not finite; write T.infinity(dtype) in the module")
        return f"({value!r})" if value < 0 else repr(value)
    return repr(value)


def _evaluate(node: ast.expr, known: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value) if isinstance(value, (int, float, str, bool, type(None))):
            return value
        case ast.Name(id=name):
            if name not in known:
                raise NotConstant(f"{name} is not known")
            return known[name]
        case ast.Tuple(elts=elts):
            return tuple(evaluate(item, known) for item in elts)
        case ast.List(elts=elts):
            return [evaluate(item, known) for item in elts]
        case ast.Dict(keys=keys, values=values) if all(key is not None for key in keys):
            return {
                evaluate(key, known): evaluate(value, known)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](evaluate(operand, known))
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, evaluate(left, known), evaluate(right, known))
        case ast.BoolOp(op=join, values=operands):
            result: Any = None
            for item in operands:
                result = evaluate(item, known)
                if bool(result) == isinstance(join, ast.Or):
                    break
            return result
        case ast.Compare(left=first, ops=comparisons, comparators=others):
            before = evaluate(first, known)
            for comparison, item in zip(comparisons, others, strict=True):
                after = evaluate(item, known)
                if not _COMPARE[type(comparison)](before, after):
                    return False
                before = after
            return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return evaluate(body if evaluate(test, known) else orelse, known)
        case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
            return evaluate(value, known)[evaluate(index, known)]
        case ast.JoinedStr(values=parts):
            return "".join(_piece(part, known) for part in parts)
        case ast.Attribute() if dotted(node) in _VALUES:
            return _VALUES[dotted(node)]
        case ast.Call(func=func, args=args, keywords=[]) if dotted(func) in CALLS:
            return CALLS[dotted(func)](*(evaluate(arg, known) for arg in args))
    raise NotConstant("it is more than numbers, strings and arithmetic")


def _piece(part: ast.expr, known: dict[str, Any]) -> str:
    if isinstance(part, ast.FormattedValue):
        if part.format_spec is not None or part.conversion != -1:
            raise NotConstant("it formats a value")
        return str(evaluate(part.value, known))
    return str(evaluate(part, known))


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    if type(op) not in _BINARY:
        raise NotConstant("it uses an operator that constants do not have")
    if isinstance(op, ast.Pow | ast.LShift):
        small = isinstance(right, int) and abs(right) <= MAX_BITS and isinstance(left, (int, float))
        if not small or (isinstance(op, ast.Pow) and abs(left) > 2**32):
            raise NotConstant("it grows too large")
    if isinstance(op, ast.Mult):
        for item, count in ((left, right), (right, left)):
            if isinstance(item, (str, tuple, list)) and (
                not isinstance(count, int) or len(item) * max(count, 0) > MAX_ITEMS
            ):
                raise NotConstant("it grows too large")
    if isinstance(op, ast.Mod) and isinstance(left, str):
        raise NotConstant("it formats a string")
    return _bounded(_BINARY[type(op)](left, right))


def _bounded(value: Any) -> Any:
    """The value when it is a plain one of reasonable size."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise NotConstant("it grows too large")
    if isinstance(value, (str, tuple, list, dict)) and len(value) > MAX_ITEMS:
        raise NotConstant("it grows too large")
    if isinstance(value, complex):
        raise NotConstant("it is a complex number")
    return value
