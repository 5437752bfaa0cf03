"""Watch a dlight rule while it runs, and tell at which of its tests it turned a function away.

A line tracer limited to dlight's own files notes, for every function of a rule that ends with
None or False, at which line and with which values.  The test is then read from the rule's source:
nothing about the rules is assumed, so other versions of TVM are explained too; `dlight_words` only
puts the tests of 0.27 into plain words.
"""

from __future__ import annotations

import ast
import functools
import operator
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from explorer.engine.refuse import REFUSALS

RAISED = (
    *REFUSALS, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError,
)  # fmt: skip
"""What dlight's rules are known to raise besides TVM's refusals, their own slips included."""


@dataclass(frozen=True)
class Exit:
    """A function of dlight that ended; `said_no` when it returned None, False or only Nones.

    `raised_at` is the line of the last exception in it (0 when there was none), `failed` tells
    that the exception left it.
    """

    function: str
    file: str
    line: int
    said_no: bool
    failed: bool
    raised_at: int
    values: dict[str, Any]


@dataclass(frozen=True)
class Test:
    """The test that decided: its source, the values in it, and the exit of what it asked."""

    function: str
    source: str
    values: dict[str, Any]
    holds: bool
    """Whether the test was true when it sent the rule away (False for a failed assert)."""
    line: int
    file: str
    asked: Test | None


def watch(run: Callable[[], Any]) -> tuple[Any, Exception | None, list[Exit]]:
    """`run()`'s result or its exception, and every exit of dlight's functions meanwhile."""
    exits: list[Exit] = []
    folder = _folder()
    raised: dict[int, int] = {}
    raising: set[int] = set()

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception":
            raised[id(frame)] = frame.f_lineno
            raising.add(id(frame))
        elif event == "line":
            raising.discard(id(frame))
        elif event == "return":
            code = frame.f_code
            raised_at, failed = raised.pop(id(frame), 0), id(frame) in raising
            raising.discard(id(frame))
            exits.append(
                Exit(
                    code.co_qualname, code.co_filename, frame.f_lineno, _is_no(arg), failed,
                    raised_at, dict(frame.f_locals),
                )
            )  # fmt: skip
        return local

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(folder) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return run(), None, exits
    except RAISED as error:
        return None, error, exits
    finally:
        sys.settrace(before)


def decisive(exits: list[Exit]) -> Test | None:
    """The test at which the outermost function, the rule's apply, said no; None if it did not."""
    if not exits or not exits[-1].said_no or exits[-1].failed:
        return None
    return _test(exits[-1], exits[:-1], 0)


def _is_no(value: Any) -> bool:
    """None, False (a bool or TVM's own), or a tuple of nothing but None."""
    if isinstance(value, tuple):
        return bool(value) and all(item is None for item in value)
    plain = getattr(value, "value", value)
    return plain is None or (isinstance(plain, int) and not plain)


def _test(exit_: Exit, before: list[Exit], depth: int) -> Test | None:
    function = _function(exit_.file, exit_.line)
    found = None if function is None else _guard(function, exit_)
    if function is None or found is None:
        return None
    condition, holds = found
    if holds:
        condition = _true_part(condition, exit_.values, before)
    asked = _asked(condition, function, exit_, before, depth) if depth < 4 else None
    return Test(
        exit_.function,
        ast.unparse(condition),
        exit_.values,
        holds,
        exit_.raised_at if isinstance(condition, ast.Constant) else exit_.line,
        exit_.file,
        asked,
    )


def _guard(function: ast.AST, exit_: Exit) -> tuple[ast.expr, bool] | None:
    """The condition under which the exit was reached, and whether it held there."""
    path = _path(function, exit_.line)
    last = path[-1]
    if isinstance(last, ast.Return) and isinstance(last.value, ast.IfExp):
        return last.value.test, False
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Call):
        return last.value, False
    for parent, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        if isinstance(parent, ast.If):
            return parent.test, child in parent.body
        if isinstance(parent, ast.ExceptHandler):
            raiser = _path(function, exit_.raised_at)[-1]
            if isinstance(raiser, ast.Assert):
                return raiser.test, False
            return ast.Constant(f"no exception in `{ast.unparse(raiser)}`"), False
    if isinstance(last, ast.Return) and last.value is not None:
        return last.value, False
    return None


def _true_part(condition: ast.expr, values: dict[str, Any], before: list[Exit]) -> ast.expr:
    """Of `a or b or c`, the first part that holds, as far as that can be told."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.Or):
        for part in condition.values:
            try:
                if _value(part, values, before):
                    return part
            except (LookupError, TypeError, AttributeError):
                continue
    return condition


def _value(node: ast.expr, values: dict[str, Any], before: list[Exit]) -> Any:
    """A test of the rule with the values it had; a dlight function counts as it answered last.

    Raises LookupError for what can't be told without running code.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, values, before), node.attr)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _value(node.operand, values, before)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, values, before) for item in node.elts]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left = _value(node.left, values, before)
        return _COMPARE[type(node.ops[0])](left, _value(node.comparators[0], values, before))
    if isinstance(node, ast.Call):
        name = _called(node)
        if name == "len":
            return len(_value(node.args[0], values, before))
        for found in reversed(before):
            if found.function.rpartition(".")[2] == name:
                return None if found.said_no else True
    raise LookupError(ast.unparse(node))


_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.NotIn: lambda a, b: a not in b,
    ast.In: lambda a, b: a in b,
}


def _asked(
    condition: ast.expr, function: ast.AST, exit_: Exit, before: list[Exit], depth: int
) -> Test | None:
    """The no of a dlight function that the condition calls, or whose result it looks at."""
    wanted = {_called(node) for node in ast.walk(condition) if isinstance(node, ast.Call)}
    names = {node.id for node in ast.walk(condition) if isinstance(node, ast.Name)}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and node.lineno <= exit_.line
        ):
            targets = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if targets & names:
                wanted.add(_called(node.value))
    for index in range(len(before) - 1, -1, -1):
        found = before[index]
        if found.function.rpartition(".")[2] in wanted and found.said_no and not found.failed:
            return _test(found, before[:index], depth + 1)
    return None


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _path(root: ast.AST, line: int) -> list[ast.AST]:
    """Statements from `root` down to the one at `line`."""
    path = [root]
    while True:
        inside = [
            child
            for child in ast.iter_child_nodes(path[-1])
            if isinstance(child, (ast.stmt, ast.ExceptHandler))
            and child.lineno <= line <= (child.end_lineno or child.lineno)
        ]
        if not inside:
            return path
        path.append(inside[-1])


def _function(file: str, line: int) -> ast.AST | None:
    """The innermost function definition of `file` that has `line`."""
    found: ast.AST | None = None
    for node in ast.walk(_tree(file)):
        if (
            isinstance(node, ast.FunctionDef)
            and node.lineno <= line <= (node.end_lineno or node.lineno)
            and (found is None or node.lineno > found.lineno)  # type: ignore[attr-defined]
        ):
            found = node
    return found


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module:
    with open(file, encoding="utf-8") as source:
        return ast.parse(source.read())


@functools.lru_cache(maxsize=1)
def _folder() -> str:
    from tvm.s_tir import dlight

    return os.path.dirname(str(dlight.__file__)) + os.sep
