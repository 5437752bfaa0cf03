"""Expressions of the schedule subset: constants, arithmetic, slices, comprehensions, calls."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from explorer.errors import ScheduleTextError
from explorer.schedule_text.host import LIMITS, Extent, Variable


class Opaque:
    """A value the text may carry around but not look into, such as a module; `what` names it."""

    def __init__(self, what: str) -> None:
        self.what = what


SCHEDULE = Opaque("the schedule")
MODULE = Opaque("a module")


@dataclass(frozen=True, eq=False)
class Function:
    """A helper defined in the text, with the names visible where it was defined."""

    node: ast.FunctionDef
    scope: Scope


@dataclass
class Scope:
    """Names of one function call, with the names around it."""

    names: dict[str, Any] = field(default_factory=dict)
    outer: Scope | None = None

    def find(self, name: str) -> Any:
        """The value of `name`.  Raises KeyError."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        raise KeyError(name)


def refuse(node: ast.AST, what: str, why: str = "", do: str = "") -> NoReturn:
    """Raise a ScheduleTextError at the line of `node`."""
    raise ScheduleTextError(what, why, do, line=getattr(node, "lineno", None))


def shown(node: ast.AST) -> str:
    """The construct as the text has it, shortened."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "…"


SUBSET = (
    "A schedule file may use assignments, for, if, helper functions, constants, arithmetic, "
    "slices, comprehensions and calls of sch."
)

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FAILURES = (TypeError, ValueError, ZeroDivisionError, IndexError, KeyError, OverflowError)


class Expressions:
    """Evaluates expression nodes to plain values; `call` is supplied by the interpreter."""

    def __init__(self) -> None:
        self.operations = 0

    def eval(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression.  Raises ScheduleTextError on what the subset has not."""
        self.tick(node)
        visit = getattr(self, f"_{type(node).__name__}", None)
        if visit is None:
            refuse(node, f"{shown(node)} is not schedule text.", do=SUBSET)
        return visit(node, scope)

    def tick(self, node: ast.AST) -> None:
        """Count one operation.  Raises ScheduleTextError when there were too many."""
        self.operations += 1
        if self.operations > LIMITS.operations:
            refuse(node, f"The schedule runs more than {LIMITS.operations} operations.")

    def items(self, node: ast.expr, scope: Scope) -> list[Any]:
        """The elements of a sequence expression, as `for` and `*` see them."""
        value = self.eval(node, scope)
        if isinstance(value, dict):
            value = list(value)
        if not isinstance(value, (list, tuple, str)):
            refuse(node, f"{shown(node)} is {describe(value)}, not a sequence.")
        return list(value)

    def call(self, node: ast.Call, scope: Scope) -> Any:
        """A call; the interpreter knows the functions."""
        raise NotImplementedError

    def guarded(self, node: ast.expr, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)` on plain values, its failure at this line, its result bounded."""
        for arg in args:
            if isinstance(arg, (Variable, Opaque, Function)):
                refuse(node, f"{shown(node)}: can't compute with {describe(arg)}.")
        try:
            return bounded(node, function(*args))
        except _FAILURES as error:
            refuse(node, f"{shown(node)} does not work: {error}.")

    # Atoms

    def _Constant(self, node: ast.Constant, scope: Scope) -> Any:
        if isinstance(node.value, (bool, int, float, str, type(None))):
            return bounded(node, node.value)
        refuse(node, f"{shown(node)} is not a value a schedule uses.")

    def _Name(self, node: ast.Name, scope: Scope) -> Any:
        try:
            return scope.find(node.id)
        except KeyError:
            refuse(node, f"{node.id} is not defined in this file.")

    def _Tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._elements(node.elts, scope))

    def _List(self, node: ast.List, scope: Scope) -> Any:
        return self._elements(node.elts, scope)

    def _Dict(self, node: ast.Dict, scope: Scope) -> Any:
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                refuse(node, "** inside a dict is not schedule text.")
            name = self.eval(key, scope)
            if not isinstance(name, (str, int)):
                refuse(key, f"{shown(key)} can't be a key.")
            found[name] = self.eval(value, scope)
        return found

    def _elements(self, nodes: list[ast.expr], scope: Scope) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.items(node.value, scope)
            else:
                found.append(self.eval(node, scope))
        return bounded(nodes[0], found) if nodes else found

    def _JoinedStr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        text = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.eval(part.value, scope)
                if part.format_spec is not None or not isinstance(value, (int, float, str)):
                    refuse(
                        node, f"{shown(node)}: only plain numbers and strings fit in an f-string."
                    )
                text += str(value)
            else:
                text += str(self.eval(part, scope))
        return bounded(node, text)

    # Operators

    def _BinOp(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self.eval(node.left, scope), self.eval(node.right, scope)
        return self.binary(node, node.op, left, right)

    def binary(self, node: Any, op: ast.operator, left: Any, right: Any) -> Any:
        """`left op right`, refused before it could become huge."""
        apply = _BINARY.get(type(op))
        if apply is None:
            refuse(node, f"{shown(node)} is not schedule text.", do=SUBSET)
        if isinstance(op, (ast.Pow, ast.LShift)) and not (
            isinstance(right, int) and 0 <= right <= 64
        ):
            refuse(node, f"{shown(node)}: the exponent is out of range.")
        if isinstance(op, ast.Mod) and isinstance(left, str):
            refuse(node, f"{shown(node)}: use an f-string to build a name.")
        if isinstance(op, ast.Mult):
            for seq, count in ((left, right), (right, left)):
                if isinstance(seq, (str, list, tuple)) and isinstance(count, int):
                    bounded(node, range(len(seq) * max(count, 0)))
        return self.guarded(node, apply, left, right)

    def _UnaryOp(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return self.guarded(node, _UNARY[type(node.op)], self.eval(node.operand, scope))

    def _BoolOp(self, node: ast.BoolOp, scope: Scope) -> Any:
        value: Any = None
        for part in node.values:
            value = self.eval(part, scope)
            if bool(value) != isinstance(node.op, ast.And):
                break
        return value

    def _Compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.eval(right_node, scope)
            if isinstance(op, (ast.Is, ast.IsNot)) and left is not None and right is not None:
                refuse(node, f"{shown(node)}: `is` compares with None only; use ==.")
            try:
                if not _COMPARE[type(op)](left, right):
                    return False
            except TypeError as error:
                refuse(node, f"{shown(node)} does not work: {error}.")
            left = right
        return True

    def _IfExp(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.eval(node.body if self.eval(node.test, scope) else node.orelse, scope)

    # Parts

    def _Subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        if value is MODULE:
            return MODULE
        if not isinstance(value, (list, tuple, str, dict)):
            refuse(node, f"{shown(node.value)} is {describe(value)}: it has no parts.")
        if isinstance(node.slice, ast.Slice):
            ends = [
                None if end is None else self.eval(end, scope)
                for end in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return self.guarded(node, lambda: value[slice(*ends)])
        index = self.eval(node.slice, scope)
        try:
            return value[index]
        except _FAILURES:
            size = f"{len(value)} elements"
            refuse(node, f"{shown(node)}: {shown(node.value)} has {size}, no {index!r}.")

    def _Attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        if value is SCHEDULE and node.attr in ("mod", "trace", "state"):
            return MODULE
        if isinstance(value, Extent) and node.attr == "extent":
            return value.extent
        if isinstance(value, int) and node.attr == "value":
            return value
        refuse(node, f"{shown(node)}: {describe(value)} has no {node.attr} in a schedule file.")

    def _Call(self, node: ast.Call, scope: Scope) -> Any:
        return self.call(node, scope)

    def _ListComp(self, node: ast.ListComp, scope: Scope) -> Any:
        return self._comprehend(node, scope)

    def _GeneratorExp(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        return tuple(self._comprehend(node, scope))

    def _comprehend(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> list[Any]:
        found: list[Any] = []
        inner = Scope(outer=scope)
        for _ in self._rounds(node.generators, inner):
            found.append(self.eval(node.elt, inner))
        return bounded(node, found)

    def _rounds(self, generators: list[ast.comprehension], scope: Scope) -> Iterator[None]:
        if not generators:
            yield
            return
        first, *rest = generators
        for item in self.items(first.iter, scope):
            self.assign(first.target, item, scope)
            if all(self.eval(test, scope) for test in first.ifs):
                yield from self._rounds(rest, scope)

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Bind a name, or unpack a sequence into several, starred ones included."""
        self.tick(target)
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
            return
        if isinstance(target, ast.Subscript):
            into = self.eval(target.value, scope)
            if isinstance(into, (list, dict)) and not isinstance(target.slice, ast.Slice):
                index = self.eval(target.slice, scope)
                self.guarded(target, lambda: into.__setitem__(index, value))
                return
        if not isinstance(target, (ast.Tuple, ast.List)):
            refuse(target, f"Can't assign to {shown(target)} in a schedule file.")
        if not isinstance(value, (list, tuple, str)):
            refuse(target, f"Can't unpack {describe(value)} into {shown(target)}.")
        star = next((n for n, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
        values, names = list(value), target.elts
        if star is not None and len(values) >= len(names) - 1:
            behind = len(names) - star - 1
            middle = values[star : len(values) - behind]
            values = [*values[:star], middle, *values[len(values) - behind :]]
        if len(values) != len(names):
            refuse(
                target,
                f"{shown(target)} takes {len(names)} values, but there are {len(value)}.",
                do="Name as many loops as the block has here.",
            )
        for name, part in zip(names, values, strict=True):
            self.assign(name.value if isinstance(name, ast.Starred) else name, part, scope)


def bounded(node: ast.AST, value: Any) -> Any:
    """`value`, unless it is a number or a sequence beyond the limits.  Raises ScheduleTextError."""
    if isinstance(value, complex) or (
        isinstance(value, (int, float)) and LIMITS.magnitude < abs(value) < math.inf
    ):
        refuse(node, "The number is larger than any loop can be.")
    if isinstance(value, (str, list, tuple, dict, range)) and len(value) > LIMITS.items:
        refuse(node, f"The sequence is longer than {LIMITS.items}.")
    return value


def describe(value: Any) -> str:
    """A value in words, for messages."""
    if isinstance(value, Variable):
        return f"a {value.kind}"
    if isinstance(value, Opaque):
        return value.what
    if isinstance(value, Function):
        return f"the function {value.node.name}"
    if value is None:
        return "None"
    return f"{value!r}"[:40]
