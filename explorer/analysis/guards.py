"""The comparisons of a guard (T.where), read from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def comparisons(predicate: str) -> Iterator[tuple[str, str]]:
    """Left side and limit of every `left < limit` that a guard demands; other parts are left out.

    The text is read as a syntax tree and never executed.
    """
    try:
        tree = ast.parse(predicate.strip(), mode="eval")
    except SyntaxError:
        return
    yield from _parts(tree.body)


def names(expression: str) -> list[str]:
    """The variables of an expression, in order; `T.int64` and other functions are none."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError:
        return []
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id != "T"]
    found.sort(key=lambda name: (name.lineno, name.col_offset))
    return list(dict.fromkeys(name.id for name in found))


def _parts(node: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for part in node.values:
            yield from _parts(part)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt):
        yield ast.unparse(node.left), ast.unparse(node.comparators[0])
