"""Index maps as text: `lambda i, j: (i // 4, j % 4, 0)`, read by a small interpreter.

The text is parsed, never executed: names of its own arguments, whole numbers, `+ - * // %` and
sign are all it may hold.  A result without an argument in it becomes a typed constant, because
TVM refuses a plain int there; `T.int64(0)` says a type other than that of the indices.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from explorer.errors import StepRefused

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True)
class IndexMapText:
    """A parsed index map: its arguments' names and its result expressions.

    `single` tells that the text gives one expression, not a tuple of them.
    """

    arguments: tuple[str, ...]
    results: tuple[ast.expr, ...]
    single: bool

    def values(self, variables: dict[str, Any], constant: Callable[[int, str], Any]) -> list[Any]:
        """Each result over `variables`; `constant` makes one that names none of them.

        Its second argument is the type that the text states, or "".
        """
        return [
            _value(result, variables)
            if _names(result)
            else constant(_value(result, variables), _type(result))
            for result in self.results
        ]

    def python(self, constant: Callable[[int, str], str]) -> str:
        """The map as a Python lambda; `constant` writes a result that is a number."""
        shown = [
            ast.unparse(result) if _names(result) else constant(_value(result, {}), _type(result))
            for result in self.results
        ]
        head = f"lambda {', '.join(self.arguments)}" if self.arguments else "lambda"
        if self.single:
            return f"{head}: {shown[0]}"
        return f"{head}: ({', '.join(shown)}{',' if len(shown) == 1 else ''})"


def parse_index_map(text: str) -> IndexMapText:
    """Read a lambda over indices.  Raises StepRefused naming what is not allowed in it."""
    example = "Write it like lambda i, j: (i // 4, j % 4)."
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise StepRefused(f'"{text}" is not an index map.', do=example) from error
    if not isinstance(tree, ast.Lambda):
        raise StepRefused(f'"{text}" is not an index map.', "It must be a lambda.", example)
    given = tree.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise StepRefused("The index map takes something other than plain arguments.", do=example)
    names = tuple(argument.arg for argument in given.args)
    if len(set(names)) != len(names):
        raise StepRefused("Two arguments of the index map have one name.", do=example)
    body = tree.body
    single = not isinstance(body, (ast.Tuple, ast.List))
    results = (body,) if single else tuple(body.elts)  # type: ignore[attr-defined]
    for result in results:
        _check(result, names, example)
    return IndexMapText(names, results, single)


def _check(node: ast.expr, names: tuple[str, ...], example: str) -> None:
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise StepRefused(
                f"{node.id} is not an argument of the index map.",
                f"Its arguments are: {', '.join(names) or 'none'}.",
            )
    elif (isinstance(node, ast.Constant) and type(node.value) is int) or _type(node):
        return
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _check(node.operand, names, example)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left, names, example)
        _check(node.right, names, example)
    else:
        raise StepRefused(
            f'"{ast.unparse(node)}" can\'t stand in an index map.',
            "Only its arguments, whole numbers and + - * // % can.",
            example,
        )


def _value(node: ast.expr, variables: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return variables[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Call):
        return _value(node.args[0], variables)
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, variables)
    assert isinstance(node, ast.BinOp)
    left, right = _value(node.left, variables), _value(node.right, variables)
    try:
        return _OPERATORS[type(node.op)](left, right)
    except ZeroDivisionError as error:
        raise StepRefused(f'"{ast.unparse(node)}" divides by zero.') from error


def _type(node: ast.expr) -> str:
    """The type of a constant written like `T.int64(0)`, or ""."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "T"
        and node.func.attr in ("int32", "int64")
        and len(node.args) == 1
        and not node.keywords
        and isinstance(node.args[0], ast.Constant)
        and type(node.args[0].value) is int
    ):
        return node.func.attr
    return ""


def _names(node: ast.expr) -> bool:
    if _type(node):
        return False
    return any(isinstance(part, ast.Name) for part in ast.walk(node))
