"""The allow-list over the syntax tree: what is not TVMScript never reaches TVM.

TVM's parser evaluates the Python expressions of a module.  Everything here is refused unless it
is known to build IR and nothing else; refusals name the line and the construct.
"""

from __future__ import annotations

import ast

from explorer.dialect.code import Code, bound_names, decorator_name, dotted
from explorer.dialect.constants import is_constant
from explorer.dialect.expressions import CONSTRUCTS, ExpressionChecks
from explorer.dialect.find import Unknown
from explorer.errors import LoadError

_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.With, ast.Expr,
    ast.Return, ast.Assert, ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip
_FUNCTIONS = {
    "T.prim_func": {"private", "s_tir", "check_well_formed", "persistent"},
    "R.function": {"private", "pure", "check_well_formed"},
}


def check(code: Code, unknown: dict[str, Unknown]) -> None:
    """Raise ForbiddenText or LoadError for the first thing that is not TVMScript.

    `unknown` are names that the text around the module sets to something that isn't constant.
    """
    _Checker(code, unknown).module()


class _Checker(ExpressionChecks):
    """Checks a whole module: its class, functions and statements."""

    def __init__(self, code: Code, unknown: dict[str, Unknown]) -> None:
        super().__init__(code, unknown)
        self.sizes: set[str] = set()

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
                self.refuse(stmt, CONSTRUCTS.get(type(stmt), f"a {type(stmt).__name__} statement"))
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


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "range"
