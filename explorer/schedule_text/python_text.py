"""Python schedules: a function taking `sch`, or statements that make a Schedule, interpreted.

Nothing of the text is executed by Python: statements are walked, calls of the schedule go to the
host, and what the subset does not know is refused with its line.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

from explorer.errors import ScheduleTextError, StepRefused, UserError
from explorer.model.loaded import Note
from explorer.schedule_text.expressions import (
    MODULE,
    SCHEDULE,
    SUBSET,
    Expressions,
    Function,
    Scope,
    bounded,
    describe,
    refuse,
    shown,
)
from explorer.schedule_text.find import (
    entry,
    given_schedule,
    makes_schedule,
    talks_to_schedule,
)
from explorer.schedule_text.host import LIMITS, ScheduleHost
from explorer.schedule_text.index_maps import plain_index_map

SILENT = {"show", "print"}
"""Calls that only look: nothing to do."""

_BUILTINS: dict[str, Any] = {
    "len": len, "min": min, "max": max, "sum": sum, "abs": abs, "int": int, "float": float,
    "str": str, "bool": bool, "list": list, "tuple": tuple, "sorted": sorted, "any": any,
    "all": all,
    "reversed": lambda items: list(reversed(items)),
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *items: list(zip(*items, strict=False)),
}  # fmt: skip
_CARRIES = {"list", "tuple", "len", "reversed", "enumerate", "zip"}
"""Builtins that may be given blocks and loops."""
_LIST_METHODS = {"append", "extend", "insert", "pop", "reverse", "index"}
_STR_METHODS = {"startswith", "endswith", "format", "lower", "upper", "replace"}


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Loop(Exception):
    def __init__(self, stop: bool) -> None:
        self.stop = stop


def interpret(text: str, host: ScheduleHost) -> tuple[Note, ...]:
    """Perform a schedule text on `host`; returns what was passed over, as notes.

    Raises ScheduleTextError (line and construct) and StepRefused (line; the host keeps the steps
    performed before).
    """
    if len(text) > LIMITS.text_bytes:
        raise ScheduleTextError(f"The schedule file is larger than {LIMITS.text_bytes} characters.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text)
    except SyntaxError as error:
        raise ScheduleTextError(
            "The schedule file is not Python.", f"{error.msg}.", line=error.lineno
        ) from error
    except ValueError as error:  # Python before 3.11.4 says so of null bytes
        raise ScheduleTextError("The schedule file is not Python.", f"{error}.") from error
    except (RecursionError, MemoryError) as error:
        raise ScheduleTextError("The schedule file can't be read.", f"{error}.") from error
    try:
        return _Interpreter(host).run(tree)
    except RecursionError as error:
        raise ScheduleTextError("An expression of the schedule file is nested too deep.") from error


class _Interpreter(Expressions):
    def __init__(self, host: ScheduleHost) -> None:
        super().__init__()
        self.host = host
        self.notes: list[Note] = []
        self.calls = 0
        self.depth = 0

    def run(self, tree: ast.Module) -> tuple[Note, ...]:
        top = Scope()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                top.names[node.name] = Function(node, top)
        start = entry(tree)
        if start is None:
            refuse(
                tree,
                "There is no schedule in this text.",
                "It has neither a function taking sch nor a tvm.s_tir.Schedule(…).",
                "Write `def apply(sch): …`.",
            )
        given = given_schedule(tree) if start is tree else ""
        made = bool(given) and not any(makes_schedule(node) for node in tree.body)
        if made:
            top.names[given] = SCHEDULE
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            made = made or makes_schedule(node)
            known = {name for name, value in top.names.items() if value is SCHEDULE}
            if made and (makes_schedule(node) or talks_to_schedule(node, known, top.names)):
                self.statement(node, top)
            else:
                self._try_constant(node, top)
        if isinstance(start, ast.FunctionDef):
            args = [SCHEDULE] if not makes_schedule(start) else [MODULE]
            optional = len(start.args.defaults)
            args += [MODULE] * (len(start.args.args) - optional - len(args))
            self.invoke(start, Function(start, top), args[: len(start.args.args)], {})
        return tuple(self.notes)

    def _try_constant(self, node: ast.stmt, top: Scope) -> None:
        """Keep a top-level constant; pass over anything else with a note."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            try:
                self.statement(node, top)
            except UserError:
                pass
            else:
                return
        self.notes.append(Note(line=node.lineno, message=f"Passed over: {shown(node)}"))

    # Statements

    def block(self, nodes: list[ast.stmt], scope: Scope) -> None:
        for node in nodes:
            self.statement(node, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        self.tick(node)
        if isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.eval(node.value, scope)
        elif isinstance(node, ast.Assign):
            value = self.eval(node.value, scope)
            for target in node.targets:
                self.assign(target, value, scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, self.eval(node.value, scope), scope)
        elif isinstance(node, ast.AugAssign):
            read = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node)
            left, right = self.eval(read, scope), self.eval(node.value, scope)
            self.assign(node.target, self.binary(node, node.op, left, right), scope)
        elif isinstance(node, ast.For):
            self._for(node, scope)
        elif isinstance(node, ast.While):
            self._while(node, scope)
        elif isinstance(node, ast.If):
            self.block(node.body if self.eval(node.test, scope) else node.orelse, scope)
        elif isinstance(node, ast.FunctionDef):
            scope.names[node.name] = Function(node, scope)
        elif isinstance(node, ast.Return):
            raise _Return(None if node.value is None else self.eval(node.value, scope))
        elif isinstance(node, (ast.Break, ast.Continue)):
            raise _Loop(stop=isinstance(node, ast.Break))
        elif isinstance(node, ast.Assert):
            if not self.eval(node.test, scope):
                refuse(node, f"The schedule's own check fails: {shown(node.test)}.")
        elif not isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            refuse(node, f"`{shown(node)}` is not schedule text.", do=SUBSET)

    def _for(self, node: ast.For, scope: Scope) -> None:
        for item in self.items(node.iter, scope):
            self.assign(node.target, item, scope)
            try:
                self.block(node.body, scope)
            except _Loop as signal:
                if signal.stop:
                    return
        self.block(node.orelse, scope)

    def _while(self, node: ast.While, scope: Scope) -> None:
        while self.eval(node.test, scope):
            try:
                self.block(node.body, scope)
            except _Loop as signal:
                if signal.stop:
                    return
        self.block(node.orelse, scope)

    # Calls

    def call(self, node: ast.Call, scope: Scope) -> Any:
        if makes_schedule(node, deep=False):
            if self.host.restart():
                self.notes.append(
                    Note(
                        line=node.lineno,
                        message="A new schedule starts here; the steps above it are dropped.",
                    )
                )
            return SCHEDULE
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method(node, function, scope)
        if not isinstance(function, ast.Name):
            refuse(node, f"{shown(node)} is not schedule text.", do=SUBSET)
        try:
            target = scope.find(function.id)
        except KeyError:
            return self._builtin(node, function.id, scope)
        if not isinstance(target, Function):
            refuse(node, f"{function.id} is {describe(target)}, not a function.")
        args, kwargs = self._arguments(node, scope)
        return self.invoke(node, target, args, kwargs)

    def _method(self, node: ast.Call, function: ast.Attribute, scope: Scope) -> Any:
        owner = self.eval(function.value, scope)
        name = function.attr
        if owner is SCHEDULE:
            if name in SILENT:
                return None
            args, kwargs = self._arguments(node, scope)
            return self._perform(node, name, args, kwargs)
        if owner is MODULE:
            return MODULE
        args, kwargs = self._arguments(node, scope)
        allowed = (isinstance(owner, list) and name in _LIST_METHODS) or (
            isinstance(owner, str) and name in _STR_METHODS
        )
        if not allowed or kwargs:
            refuse(node, f"{shown(node)}: {describe(owner)} has no {name} in a schedule file.")
        if isinstance(owner, str):
            return self.guarded(node, getattr(owner, name), *args)
        try:
            result = getattr(owner, name)(*args)
        except (TypeError, ValueError, IndexError) as error:
            refuse(node, f"{shown(node)} does not work: {error}.")
        bounded(node, owner)
        return result

    def _perform(self, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """One call of the schedule, its refusal at this line."""
        self.calls += 1
        if self.calls > LIMITS.calls:
            refuse(node, f"The schedule makes more than {LIMITS.calls} calls.")
        try:
            return self.host.call(name, args, kwargs)
        except (StepRefused, ScheduleTextError) as error:
            problem = error.problem
            raise type(error)(
                problem.what,
                problem.why,
                problem.do,
                line=node.lineno if problem.line is None else problem.line,
                details=problem.details,
            ) from error

    def _builtin(self, node: ast.Call, name: str, scope: Scope) -> Any:
        if name in SILENT:
            return None
        if name not in _BUILTINS and name != "range":
            refuse(node, f"{name} is not defined in this file.", do=SUBSET)
        args, kwargs = self._arguments(node, scope)
        if kwargs:
            refuse(node, f"{shown(node)}: {name} takes no keywords here.")
        if name == "range":
            return list(self.guarded(node, range, *args))
        if name in _CARRIES:
            try:
                return bounded(node, _BUILTINS[name](*args))
            except TypeError as error:
                refuse(node, f"{shown(node)} does not work: {error}.")
        if name == "int" and args and isinstance(args[0], str) and len(args[0]) > 20:
            refuse(node, "The number is larger than any loop can be.")
        return self.guarded(node, _BUILTINS[name], *args)

    def _arguments(self, node: ast.Call, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += self.items(arg.value, scope)
            else:
                args.append(self._argument(arg, scope))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                kwargs[keyword.arg] = self._argument(keyword.value, scope)
                continue
            value = self.eval(keyword.value, scope)
            if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
                refuse(node, f"**{shown(keyword.value)} is not a dict of arguments.")
            kwargs.update(value)
        return args, kwargs

    def _argument(self, node: ast.expr, scope: Scope) -> Any:
        """An argument; an index map (a lambda) stays text, for the step's own reader to check."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("index_map", "from_func")
            and node.args
        ):
            node = node.args[0]
        if isinstance(node, ast.Lambda):
            return plain_index_map(node, scope.find)
        return self.eval(node, scope)

    def invoke(
        self, node: ast.AST, function: Function, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Call a helper of the text."""
        spec, name = function.node.args, function.node.name
        self.depth += 1
        if self.depth > LIMITS.depth:
            refuse(node, f"{name} calls itself more than {LIMITS.depth} times.")
        scope = Scope(outer=function.scope)
        params = [arg.arg for arg in spec.posonlyargs + spec.args]
        defaults = dict(zip(reversed(params), reversed(spec.defaults), strict=False))
        only = [arg.arg for arg in spec.kwonlyargs]
        defaults |= {
            key: default
            for key, default in zip(only, spec.kw_defaults, strict=True)
            if default is not None
        }
        given = dict(zip(params, args, strict=False))
        extra = args[len(params) :]
        if extra and spec.vararg is None:
            refuse(node, f"{name} takes {len(params)} arguments, but {len(args)} were given.")
        if spec.vararg is not None:
            scope.names[spec.vararg.arg] = tuple(extra)
        for key, value in kwargs.items():
            if key not in params + only or key in given:
                refuse(node, f"{name} can't take the argument {key} here.")
            given[key] = value
        for param in params + only:
            if param in given:
                scope.names[param] = given[param]
            elif param in defaults:
                scope.names[param] = self.eval(defaults[param], function.scope)
            else:
                refuse(node, f"{name} needs the argument {param}.")
        try:
            self.block(function.node.body, scope)
        except _Return as result:
            return result.value
        finally:
            self.depth -= 1
        return None


__all__ = ["interpret"]
