"""The allow-list over the syntax tree: what is not TVMScript never reaches TVM.

TVM's parser evaluates the Python expressions of a module.  Everything here is refused unless it
is known to build IR and nothing else; refusals name the line and the construct.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from typing import NoReturn

from explorer.dialect import vocabulary
from explorer.dialect.code import Code, bound_names, decorator_name, dotted
from explorer.dialect.constants import CALLS, is_constant
from explorer.dialect.find import Unknown
from explorer.dialect.strings import StringChecks
from explorer.errors import ForbiddenText, LoadError

_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict,
    ast.Slice, ast.Starred, ast.Subscript, ast.Constant, ast.Name, ast.Attribute, ast.Call,
    ast.Lambda,
)  # fmt: skip
_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.With, ast.Expr,
    ast.Return, ast.Assert, ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip
_CALLED = {
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
_FUNCTIONS = {
    "T.prim_func": {"private", "s_tir", "check_well_formed", "persistent"},
    "R.function": {"private", "pure", "check_well_formed"},
}


def check(code: Code, unknown: dict[str, Unknown]) -> None:
    """Raise ForbiddenText or LoadError for the first thing that is not TVMScript.

    `unknown` are names that the text around the module sets to something that isn't constant.
    """
    _Checker(code, unknown).module()


class _Checker:
    def __init__(self, code: Code, unknown: dict[str, Unknown]) -> None:
        self.code = code
        self.unknown = unknown
        self.sizes: set[str] = set()
        self.module_name = ""
        self.functions: set[str] = set()
        self.names: set[str] = set()
        self.aliases: set[str] = set()
        self.strings = StringChecks(self)

    # Statements

    def module(self) -> None:
        """The whole text: size declarations, then one class."""
        for stmt in self.code.tree.body:
            match stmt:
                case ast.ClassDef():
                    self.class_(stmt)
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(
                        func=ast.Name(id="TypeVar"), args=[ast.Constant(value=said)], keywords=[]
                    ),
                ) if said == name:
                    self.identifier(name, stmt)
                    self.sizes.add(name)
                case _:
                    self.refuse(stmt, "code outside the module")

    def class_(self, node: ast.ClassDef) -> None:
        """The module class: functions and module attributes."""
        if node.bases or node.keywords:
            self.refuse(node, "a base class", "A module is a plain class under @I.ir_module.")
        self.identifier(node.name, node)
        self.module_name = node.name
        for entry in node.decorator_list:
            if decorator_name(entry) != "I.ir_module":
                self.refuse(entry, f"the decorator @{self.code.source(entry)}")
            self.options(entry, {"check_well_formed"})
        self.functions = {stmt.name for stmt in node.body if isinstance(stmt, ast.FunctionDef)}
        for stmt in node.body:
            match stmt:
                case ast.FunctionDef():
                    self.function(stmt)
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    pass
                case ast.Expr(value=ast.Call(func=func)) if dotted(func).startswith("I.module_"):
                    self.names = set()
                    self.expression(stmt.value)
                case _:
                    self.refuse(stmt, "a statement between the functions")

    def function(self, node: ast.FunctionDef) -> None:
        """One PrimFunc or Relax function."""
        self.identifier(node.name, node)
        for entry in node.decorator_list:
            name = decorator_name(entry)
            if name not in _FUNCTIONS:
                self.refuse(entry, f"the decorator @{self.code.source(entry)}")
            self.options(entry, _FUNCTIONS[name])
        args = node.args
        if args.vararg or args.kwarg or args.defaults or args.kwonlyargs or args.posonlyargs:
            self.refuse(
                node, "a default or starred parameter", "Give every parameter a type alone."
            )
        self.names = self.sizes | {arg.arg for arg in args.args}
        for arg in args.args:
            self.identifier(arg.arg, arg)
            if arg.annotation is None:
                raise LoadError(
                    f"The parameter {arg.arg} of {node.name} has no type.",
                    do=f'Write {arg.arg}: T.Buffer((1024,), "float32") or {arg.arg}: T.handle.',
                    line=self.code.line(arg),
                )
            self.annotation(arg.annotation)
        if node.returns is not None:
            self.annotation(node.returns)
        bound = bound_names(node)
        self.aliases = self.module_aliases(node) - self.names
        self.names |= bound - self.aliases
        self.body(node.body)

    def module_aliases(self, node: ast.FunctionDef) -> set[str]:
        """Names that stand for the module: its own, and `cls` after `cls = Module`."""
        stores = [
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        found = {self.module_name} - set(stores)
        for stmt in node.body:
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=value)):
                    if value in found and stores.count(name) == 1:
                        found.add(name)
        return found

    def options(self, entry: ast.expr, allowed: set[str]) -> None:
        """A decorator's arguments: known flags with literal values."""
        if isinstance(entry, ast.Call):
            for keyword in entry.keywords:
                literal = isinstance(keyword.value, ast.Constant)
                if keyword.arg not in allowed or not literal:
                    self.refuse(entry, f"the decorator @{self.code.source(entry)}")
            if entry.args:
                self.refuse(entry, f"the decorator @{self.code.source(entry)}")

    def body(self, stmts: list[ast.stmt]) -> None:
        """Statements of a function."""
        for stmt in stmts:
            if not isinstance(stmt, _STATEMENTS):
                self.refuse(stmt, _CALLED.get(type(stmt), f"a {type(stmt).__name__} statement"))
            for child in ast.iter_child_nodes(stmt):
                if isinstance(child, ast.withitem):
                    self.expression(child.context_expr)
                    if child.optional_vars is not None:
                        self.expression(child.optional_vars)
                elif isinstance(child, ast.expr):
                    self.in_statement(stmt, child)
            if isinstance(stmt, ast.Assign):
                self.assign(stmt)
            self.body(getattr(stmt, "body", []))
            self.body(getattr(stmt, "orelse", []))

    def assign(self, stmt: ast.Assign) -> None:
        """No name for a Python list: its items would be worked out by Python."""
        targets = [part for target in stmt.targets for part in ast.walk(target)]
        starred = any(isinstance(part, ast.Starred) for part in targets)
        listed = isinstance(stmt.value, ast.List | ast.Tuple | ast.Dict)
        if starred or listed and not isinstance(stmt.targets[0], ast.Tuple | ast.List):
            self.refuse(stmt, "a name for a list", "Write the items where they are used.")

    def in_statement(self, stmt: ast.stmt, child: ast.expr) -> None:
        """An expression that is a direct part of a statement."""
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            if isinstance(stmt, ast.Expr | ast.Assert):
                return  # a docstring, or the message of an assert
        if isinstance(stmt, ast.Assert) and child is stmt.msg and is_constant(child):
            return
        if isinstance(stmt, ast.AnnAssign) and child is stmt.annotation:
            self.annotation(child)
        elif isinstance(stmt, ast.For) and child is stmt.iter and _is_range(child):
            for arg in [*child.args, *(k.value for k in child.keywords)]:  # type: ignore[attr-defined]
                self.expression(arg)
        else:
            self.expression(child)

    def annotation(self, node: ast.expr) -> None:
        """A type; `None` is one."""
        self.strings.sizes(node)
        if not (isinstance(node, ast.Constant) and node.value is None):
            self.expression(node)

    # Expressions

    def expression(self, node: ast.expr) -> None:
        """One expression and all that is in it."""
        if not isinstance(node, _EXPRESSIONS):
            self.refuse(node, _CALLED.get(type(node), f"a {type(node).__name__}"))
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
            "T": vocabulary.T | vocabulary.CALLS_BY_NAME,
            "I": vocabulary.I,
            "R": vocabulary.R,
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
        """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`: the one lambda that is TVMScript."""
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


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "range"


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
