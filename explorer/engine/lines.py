"""Lines of printed TVMScript: which lines each loop, block and statement of a function takes.

The printer gives no spans, so the text is read back with Python's own `ast` (never executed) and
matched to the functions by order: the k-th loop of the text is the k-th loop of the function.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Literal

from explorer.model.nest import Span


@dataclass
class Item:
    """A loop, block or other statement; `obj` is the TVM object of a loop or block."""

    kind: Literal["loop", "block", "stmt"]
    name: str = ""
    span: Span | None = None
    text: str = ""
    obj: Any = None
    children: list[Item] = field(default_factory=list)

    def flat(self) -> list[Item]:
        """The loops and blocks from here down, in pre-order."""
        own = [self] if self.kind != "stmt" else []
        return own + [item for child in self.children for item in child.flat()]


@dataclass
class FunctionText:
    """A function of the printed module: its lines and what they hold."""

    span: Span
    items: list[Item]


def read_functions(script: str) -> dict[str, FunctionText]:
    """The functions of a printed module by name, in the order of the text.

    Text that is not Python gives an empty dict: line spans are then unknown, nothing else is lost.
    """
    try:
        tree = ast.parse(script)
    except (SyntaxError, RecursionError, MemoryError):
        return {}
    reader = _Reader(script.splitlines())
    found = {}
    for node in tree.body:
        for func in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(func, ast.FunctionDef):
                first = min([func.lineno, *(d.lineno for d in func.decorator_list)])
                items = reader.items(func.body)
                found[func.name] = FunctionText(Span(first, func.end_lineno or first), items)
    return found


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def items(self, body: list[ast.stmt]) -> list[Item]:
        return [item for stmt in body for item in self._item(stmt)]

    def _item(self, stmt: ast.stmt) -> list[Item]:
        span = Span(stmt.lineno, stmt.end_lineno or stmt.lineno)
        if isinstance(stmt, ast.For):
            return [self._loops(stmt, span)]
        if isinstance(stmt, ast.With):
            called, args = _call(stmt.items[0].context_expr)
            inner = self.items(stmt.body)
            if called == "sblock":
                name = str(args[0].value) if args and isinstance(args[0], ast.Constant) else ""
                return [Item("block", name, span, children=inner)]
            if called == "init":
                return [Item("stmt", "init", span, self._text(stmt), children=inner)]
            return [Item("stmt", "", span, self._text(stmt), children=inner)]
        if isinstance(stmt, (ast.If, ast.While)):
            inner = self.items(stmt.body) + self.items(stmt.orelse)
            return [Item("stmt", "", span, self._text(stmt), children=inner)]
        if isinstance(stmt, ast.Pass) or _call(getattr(stmt, "value", None))[0] in _DECLARATIONS:
            return []
        return [Item("stmt", "", span, self._text(stmt))]

    def _loops(self, stmt: ast.For, span: Span) -> Item:
        """A `for`, or the several nested ones of T.grid, which share their lines."""
        targets = stmt.target.elts if isinstance(stmt.target, ast.Tuple) else [stmt.target]
        names = [target.id if isinstance(target, ast.Name) else "" for target in targets]
        inner = self.items(stmt.body)
        for name in reversed(names):
            inner = [Item("loop", name, span, children=inner)]
        return inner[0]

    def _text(self, stmt: ast.stmt) -> str:
        return self.lines[stmt.lineno - 1].strip()


_DECLARATIONS = {
    "func_attr", "sblock_alloc_buffer", "match_buffer", "sblock_attr", "reads", "writes", "where",
    "axis", "int32", "int64",
}  # fmt: skip
"""Calls that declare something and compute nothing: they are no statement of their own."""


def _call(expr: Any) -> tuple[str, list[ast.expr]]:
    """The name a `T.name(...)` or `T.axis.kind(...)` call goes by, and its arguments."""
    if not isinstance(expr, ast.Call):
        return "", []
    func = expr.func
    while isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Name):
            return func.attr, expr.args
        func = func.value
    return "", expr.args
