"""Schedule code that stands beside a module: found and handed on as text, never run."""

from __future__ import annotations

import ast
from typing import Any

from explorer.dialect.code import Code, dotted
from explorer.dialect.constants import NotConstant, show
from explorer.dialect.find import Found, Place
from explorer.model.loaded import Note

_USES = {"mod", "show", "trace", "state"}


def schedule_code(
    found: Found, place: Place, constants: dict[str, Any]
) -> tuple[str, set[int], list[Note]]:
    """The schedule for a module: its text ("" if none), the lines it took, and notes.

    A function with a parameter `sch`, or the statements that use what `tvm.tir.Schedule(…)` gave.
    """
    code = found.code
    scopes = [found.code.tree, *place.around[1:]]
    for scope in reversed(scopes):
        body: list[ast.stmt] = getattr(scope, "body", [])
        straight = _statements(found, place, body, constants)
        if straight[0]:
            return straight
        for stmt in body:
            if isinstance(stmt, ast.FunctionDef) and _takes_schedule(stmt):
                text = _dedented(code, stmt)
                return text, _lines(stmt), []
    return "", set(), []


def _takes_schedule(node: ast.FunctionDef) -> bool:
    args = node.args.args
    if not args or node.decorator_list:
        return False
    annotation = dotted(args[0].annotation).split(".")[-1]
    return args[0].arg in ("sch", "s", "schedule") or annotation == "Schedule"


def _statements(
    found: Found, place: Place, body: list[ast.stmt], constants: dict[str, Any]
) -> tuple[str, set[int], list[Note]]:
    schedule = ""
    start: ast.stmt | None = None
    derived: set[str] = set()
    kept: list[ast.stmt] = []
    values: dict[str, ast.stmt] = {}
    for stmt in body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=args)):
                if dotted(func).split(".")[-1] == "Schedule":
                    if kept:
                        break
                    if not args or _is_for(args[0], found, place):
                        schedule, derived, start = name, {name}, stmt
                    continue
        if not schedule:
            if isinstance(stmt, ast.Assign):
                for target in _stored(stmt):
                    values[target] = stmt
            continue
        used = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)}
        if isinstance(stmt, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        if not used & derived or _leaves_schedule(stmt, schedule):
            if isinstance(stmt, ast.Assign) and not used & derived:
                for target in _stored(stmt):
                    values[target] = stmt
            continue
        kept.append(stmt)
        derived |= _stored(stmt)
    if not kept:
        return "", set(), []
    needed = {n.id for stmt in kept for n in ast.walk(stmt) if isinstance(n, ast.Name)} - derived
    lines = [f"{name} = {_shown(constants[name])}" for name in sorted(needed & set(constants))]
    seen: list[ast.stmt] = []
    for name in sorted(needed - set(constants)):
        if name in values and values[name] not in seen and values[name] not in kept:
            seen.append(values[name])
    texts = [_dedented(found.code, stmt) for stmt in sorted(seen, key=lambda s: s.lineno) + kept]
    taken = {line for stmt in [start, *seen, *kept] if stmt for line in _lines(stmt)}
    return "\n".join([*lines, *texts]) + "\n", taken, []


def _shown(value: Any) -> str:
    try:
        return show(value)
    except NotConstant:
        return "None"


def _is_for(arg: ast.expr, found: Found, place: Place) -> bool:
    """The schedule is for this module: named, or the only one."""
    names = {n.id for n in ast.walk(arg) if isinstance(n, ast.Name)}
    others = {one.name for one in found.places if one is not place}
    return place.name in names or not names & others


def _leaves_schedule(stmt: ast.stmt, schedule: str) -> bool:
    """The statement takes something out of the schedule (`sch.mod`) or prints; it is no step."""
    for node in ast.walk(stmt):
        if (
            isinstance(node, ast.Attribute)
            and dotted(node.value) == schedule
            and node.attr in _USES
        ):
            return True
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            return True
    return False


def _stored(stmt: ast.stmt) -> set[str]:
    return {
        n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _lines(stmt: ast.stmt) -> set[int]:
    return set(range(stmt.lineno, (stmt.end_lineno or stmt.lineno) + 1))


def _dedented(code: Code, stmt: ast.stmt) -> str:
    cut = stmt.col_offset
    lines = code.text.split("\n")[stmt.lineno - 1 : stmt.end_lineno]
    return "\n".join(line[cut:] if not line[:cut].strip() else line for line in lines)
