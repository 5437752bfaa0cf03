"""Values of the small integer expressions that extents are, with the user's sizes filled in."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
}
_CASTS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "Cast"}


def evaluate(text: str, sizes: Mapping[str, int]) -> int | None:
    """The value of an extent as TVMScript prints it, or None when a name in it has no value.

    Only integer arithmetic is understood (+ - * // %, T.min, T.max, T.int64 and casts); the text
    is read as a syntax tree and never executed.
    """
    try:
        tree = ast.parse(text, mode="eval")
        return _value(tree.body, sizes)
    except (SyntaxError, _UnknownValue, ZeroDivisionError):
        return None


class _UnknownValue(Exception):
    """The expression holds something without a known integer value."""


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id in sizes:
        return sizes[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, sizes)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, sizes), _value(node.right, sizes))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        name = node.func.attr
        if name in _CASTS:
            return _value(node.args[-1], sizes)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(arg, sizes) for arg in node.args))
    raise _UnknownValue(ast.dump(node))
