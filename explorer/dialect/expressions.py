"""The allow-list on expressions: names, attributes, calls and arithmetic of TVMScript."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from typing import NoReturn

from explorer.dialect import vocabulary
from explorer.dialect.code import Code, dotted
from explorer.dialect.constants import CALLS, is_constant
from explorer.dialect.find import Unknown
from explorer.dialect.strings import StringChecks
from explorer.errors import ForbiddenText, LoadError

_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict,
    ast.Slice, ast.Starred, ast.Subscript, ast.Constant, ast.Name, ast.Attribute, ast.Call,
    ast.Lambda,
)  # fmt: skip
CONSTRUCTS = {
    ast.Lambda: "a lambda",
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment expression (:=)",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.FunctionDef: "a function inside a function",
    ast.AsyncFunctionDef: "an async function",
    ast.ClassDef: "a class inside a module",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.Try: "try",
    ast.Raise: "raise",
    ast.Match: "match",
    ast.Set: "a set",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
}
"""What a construct is called in a refusal."""


class ExpressionChecks:
    """Checks one expression at a time against the names that are known where it stands."""

    def __init__(self, code: Code, unknown: dict[str, Unknown]) -> None:
        self.code = code
        self.unknown = unknown
        self.module_name = ""
        self.functions: set[str] = set()
        self.names: set[str] = set()
        self.aliases: set[str] = set()
        self.strings = StringChecks(self)

    def expression(self, node: ast.expr) -> None:
        """One expression and all that is in it."""
        if not isinstance(node, _EXPRESSIONS):
            self.refuse(node, CONSTRUCTS.get(type(node), f"a {type(node).__name__}"))
        match node:
            case ast.Constant():
                self.strings.plain(node)
            case ast.Name():
                self.name(node)
            case ast.Attribute():
                self.attribute(node)
            case ast.Call():
                self.call(node)
            case ast.Lambda():
                self.refuse(node, "a lambda")
            case ast.BinOp():
                self.binary(node)
            case ast.Dict():
                self.strings.table(node)
            case _:
                self.children(node)

    def children(self, node: ast.AST) -> None:
        """All expressions directly below a node."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.keyword):
                self.expression(child.value)
            elif isinstance(child, ast.expr):
                self.expression(child)

    def name(self, node: ast.Name) -> None:
        """A name that is used or bound."""
        self.identifier(node.id, node)
        if node.id in self.names or node.id in self.aliases:
            return
        if node.id in ("T", "R", "I"):
            self.refuse(node, f"{node.id} as a value")
        if node.id == "metadata":
            raise LoadError(
                "The module refers to metadata, which TVM keeps outside its text.",
                "It holds long strings and constant tensors as objects of the TVM that wrote it.",
                "Print the module before it is lowered to the host, without tensors in it.",
                line=self.code.line(node),
            )
        known = self.unknown.get(node.id)
        if known is not None:
            raise LoadError(
                f"{node.id} is not a simple constant: {known.why}."
                if known.why
                else f"{node.id} is not a simple constant.",
                f"It is set in line {known.line}; code around the module is not run."
                if known.line
                else "Code around the module is not run.",
                f"Write its value above the module, for example: {node.id} = 128",
                line=self.code.line(node),
            )
        if hasattr(builtins, node.id):
            self.refuse(node, f"Python's {node.id}")
        raise LoadError(
            f"{node.id} is not known.",
            "The text uses it without defining it.",
            f"Write its value above the module, for example: {node.id} = 128",
            line=self.code.line(node),
        )

    def attribute(self, node: ast.Attribute) -> None:
        """`T.float32`, `cls.add`, `A.data`."""
        path = dotted(node)
        head, _, rest = path.partition(".")
        self.identifier(node.attr, node)
        if path and head not in self.names:
            if head in ("T", "I", "R"):
                self.vocabulary(node, head, rest)
                return
            if head in self.aliases:
                if rest not in self.functions:
                    raise LoadError(
                        f"The module has no function {rest}.",
                        f"Its functions are {', '.join(sorted(self.functions))}.",
                        "Name one of them.",
                        line=self.code.line(node),
                    )
                return
        if node.attr not in vocabulary.MEMBERS:
            self.refuse(node, f"the attribute .{node.attr}")
        self.expression(node.value)

    def vocabulary(self, node: ast.AST, head: str, rest: str) -> None:
        """A name of TVMScript itself."""
        known = {
            "T": vocabulary.TIR | vocabulary.CALLS_BY_NAME,
            "I": vocabulary.IR,
            "R": vocabulary.RELAX,
        }[head]
        if rest in known or head == "T" and _is_dtype_or_ptx(rest):
            return
        near = difflib.get_close_matches(rest, known, 1, 0.75)
        do = (
            f"Write {head}.{near[0]}." if near else "Write it with what TVM 0.27 has, or remove it."
        )
        raise LoadError(
            f"{head}.{rest} is not TVMScript that is read here.",
            "TVM 0.27 does not have it, or it does more than build a function.",
            vocabulary.HINTS.get(rest, do) if head == "T" else do,
            line=self.code.line(node),
        )

    def call(self, node: ast.Call) -> None:
        """A call of TVMScript, of a function of the module, or of a method of a buffer."""
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse(node, "** arguments")
        path = dotted(node.func)
        if isinstance(node.func, ast.Name) or path in CALLS:
            if path not in self.names and path in CALLS and is_constant(node):
                return
            if path in ("min", "max", "abs", "round") and path not in self.names:
                raise LoadError(
                    f"Python's {path} does not work on expressions.",
                    do=f"Write T.{path}(…).",
                    line=self.code.line(node),
                )
            if path == "range":
                self.refuse(node, "range outside a for")
            if isinstance(node.func, ast.Name) and not hasattr(builtins, path):
                self.name(node.func)
            self.refuse(
                node, f"a call of {path}", "Only T., R. and I. functions are called in a module."
            )
        if not isinstance(node.func, ast.Attribute):
            self.refuse(node, "a call of an expression")
        self.attribute(node.func)
        special = path.partition(".")[2] if path.startswith("T.") and "T" not in self.names else ""
        if special == "comm_reducer" and node.args and isinstance(node.args[0], ast.Lambda):
            self.reducer(node)
            return
        self.strings.call(node, path, special)

    def reducer(self, node: ast.Call) -> None:
        """`T.comm_reducer(lambda x, y: x + y, …)`: the one lambda that is TVMScript."""
        function = node.args[0]
        assert isinstance(function, ast.Lambda)
        args = function.args
        if args.defaults or args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            self.refuse(function, "a lambda with defaults")
        outer = self.names
        self.names = outer | {arg.arg for arg in args.args}
        for arg in args.args:
            self.identifier(arg.arg, arg)
        self.expression(function.body)
        self.names = outer
        for rest in node.args[1:]:
            self.expression(rest)
        for keyword in node.keywords:
            self.expression(keyword.value)

    def binary(self, node: ast.BinOp) -> None:
        """Arithmetic; what Python itself would work out must stay small."""
        for side in (node.left, node.right):
            if isinstance(side, ast.List | ast.Tuple | ast.Dict) or self.strings.is_text(side):
                if not is_constant(node):
                    self.refuse(node, "arithmetic on a list or string")
        grows = isinstance(node.op, ast.Pow | ast.LShift | ast.Mult | ast.MatMult)
        if grows and _is_numeric(node) and not is_constant(node):
            self.refuse(node, "a number that is too large")
        if isinstance(node.op, ast.Pow) and not is_constant(node):
            self.refuse(node, "the operator **", "Write T.pow(x, y).")
        if isinstance(node.op, ast.MatMult):
            self.refuse(node, "the operator @")
        self.children(node)

    # Refusing

    def identifier(self, name: str, node: ast.AST) -> None:
        """No name of Python's or TVM's machinery."""
        if name.startswith("__") or name.endswith("__"):
            self.refuse(node, f"the name {name}")

    def refuse(self, node: ast.AST, construct: str, do: str = "") -> NoReturn:
        """Raise ForbiddenText for a construct at a node."""
        source = re.sub(r"\s+", " ", self.code.source(node)) if hasattr(node, "end_lineno") else ""
        shown = source if len(source) <= 60 else source[:57] + "…"
        raise ForbiddenText(
            f"The module holds {construct}, which is Python and not TVMScript.",
            f"`{shown}` was not run." if shown else "It was not run.",
            do
            or "Remove it; a module consists of T., R. and I. calls, loops, blocks and arithmetic.",
            line=self.code.line(node),
        )


def _is_numeric(node: ast.expr) -> bool:
    """Only numbers and arithmetic: Python would work it out at once."""
    return all(
        isinstance(part, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        for part in ast.walk(node)
    )


def _is_dtype_or_ptx(rest: str) -> bool:
    if vocabulary.DTYPE.match(rest) or rest in vocabulary.SHORT_DTYPES:
        return True
    first, *more = rest.split(".")
    if first != "ptx" or not 1 <= len(more) <= 5:
        return False
    return more[0] in vocabulary.PTX and all(
        re.fullmatch(r"[a-z][a-z0-9_]*", part) for part in more
    )
