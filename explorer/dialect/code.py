"""A script with its syntax tree: what rules and checks ask of a text."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import cached_property

from explorer.dialect.script import Edit, Script
from explorer.errors import LoadError

MAX_CHARS = 1_000_000
MAX_NODES = 300_000
MAX_DEPTH = 250

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


class Code:
    """A text that parses as Python, its tree, and the way from nodes to characters."""

    def __init__(self, script: Script, tree: ast.Module | None = None) -> None:
        self.script = script
        self.tree = tree if tree is not None else parse(script)

    @property
    def text(self) -> str:
        """The text itself."""
        return self.script.text

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def offset(self, line: int, col: int) -> int:
        """Character offset of a tree position; `col` counts UTF-8 bytes, as `ast` does."""
        start = self._line_starts[line - 1]
        text = self.text[start : self._line_starts[line] - 1]
        if not text.isascii():
            col = len(text.encode()[:col].decode(errors="ignore"))
        return start + col

    def start(self, node: ast.AST) -> int:
        """Offset of the first character of a node."""
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """Offset behind the last character of a node."""
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def source(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def replace(self, node: ast.AST, new: str) -> Edit:
        """An edit that puts `new` in a node's place."""
        return Edit(self.start(node), self.end(node), new)

    def indent(self, node: ast.AST) -> str:
        """The indentation of the line on which a statement starts."""
        return " " * node.col_offset  # type: ignore[attr-defined]

    def line(self, node: ast.AST) -> int | None:
        """The user's line of a node."""
        return self.script.line(getattr(node, "lineno", None))

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """All calls of functions with one of these dotted names, in source order."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and dotted(node.func) in names:
                yield node

    def functions(self, decorator: str = "T.prim_func") -> list[ast.FunctionDef]:
        """Functions that carry the decorator, called or not."""
        return [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef)
            and any(decorator_name(entry) == decorator for entry in node.decorator_list)
        ]

    def remove_statement(self, node: ast.stmt) -> Edit:
        """An edit that takes a whole statement away; its block must hold another one."""
        start = self._line_starts[node.lineno - 1]
        return Edit(start, self._line_starts[node.end_lineno or node.lineno], "")

    def unwrap_with(self, node: ast.With, head: str) -> list[Edit]:
        """Edits that turn `with …:` into the statement `head` followed by the dedented body."""
        body = node.body[0]
        cut = body.col_offset - node.col_offset
        edits = [Edit(self.start(node), self.offset(body.lineno, 0), head + "\n")]
        for line in range(body.lineno, (node.end_lineno or body.lineno) + 1):
            at = self._line_starts[line - 1]
            if self.text[at : at + cut].isspace() and cut:
                edits.append(Edit(at, at + cut, ""))
        return edits


def parse(script: Script) -> ast.Module:
    """The syntax tree of a text.

    Raises SyntaxError (line of the script) when it is no Python, LoadError when it is too large
    or too deep to be handled.
    """
    if len(script.text) > MAX_CHARS:
        raise LoadError(
            f"The text has {len(script.text):,} characters.",
            f"At most {MAX_CHARS:,} are read.",
            "Paste the module alone.",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(script.text)
    except (RecursionError, MemoryError) as error:
        raise _too_deep(None) from error
    except ValueError as error:  # NUL characters
        raise LoadError(
            "This is not text.", "It holds NUL characters.", "Upload a Python file."
        ) from error
    _measure(script, tree)
    return tree


def _measure(script: Script, tree: ast.Module) -> None:
    """Refuse trees that Python or TVM could not walk; iterative, so that it can't fall itself."""
    count = 0
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        count += len(level)
        depth += 1
        if depth > MAX_DEPTH:
            at = next((n.lineno for n in level if hasattr(n, "lineno")), None)
            raise _too_deep(script.line(at))
        if count > MAX_NODES:
            raise LoadError(
                "The text is too large.",
                f"It has more than {MAX_NODES:,} parts.",
                "Paste the module alone, or a smaller one.",
            )
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _too_deep(line: int | None) -> LoadError:
    return LoadError(
        "The text is nested too deeply.",
        f"At most {MAX_DEPTH} levels of expressions and statements are read.",
        "Split the expression into several statements.",
        line=line,
    )


def dotted(node: ast.AST | None) -> str:
    """`T.axis.remap` for a chain of attributes on a name, else the empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def decorator_name(node: ast.expr) -> str:
    """The dotted name of a decorator, called or not."""
    return dotted(node.func if isinstance(node, ast.Call) else node)


def bound_names(scope: ast.AST) -> set[str]:
    """Every name that a function or class body binds: parameters, targets, inner definitions."""
    names: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node is not scope:
            names.add(node.name)
    return names


def own_names(tree: ast.AST) -> Iterator[tuple[ast.Name, set[str]]]:
    """Every name that is read, with the names bound by the functions around it."""
    stack: list[tuple[ast.AST, set[str]]] = [(tree, set())]
    while stack:
        node, bound = stack.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                yield node, bound
            continue
        if isinstance(node, FunctionDef):
            params = bound | {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
            stack += [(child, bound) for child in node.decorator_list]
            stack.append((node.args, params))
            if node.returns is not None:
                stack.append((node.returns, params))
            inside = bound | bound_names(node)
            stack += [(child, inside) for child in node.body]
            continue
        if isinstance(node, ast.Lambda):
            bound = bound | {arg.arg for arg in node.args.args}
        stack += [(child, bound) for child in ast.iter_child_nodes(node)]
