"""Where the schedule of a text is: the function to run, and the statements that concern it."""

from __future__ import annotations

import ast
from typing import Any

_NAMES = ("sch", "s", "schedule")
_ENTRIES = ("apply", "apply_trace", "schedule", "main", "apply_schedule")


def entry(tree: ast.Module) -> ast.FunctionDef | ast.Module | None:
    """What to run: the statements (the module itself) when they make or use a schedule, else a
    function.

    Of several functions, one with a usual name wins, else the last one that no other calls.
    """
    statements = [
        node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    if any(makes_schedule(node) for node in statements):
        return tree
    if given_schedule(tree):
        return tree
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and (_takes_schedule(node) or makes_schedule(node))
    ]
    for name in _ENTRIES:
        for node in found:
            if node.name == name:
                return node
    called = {
        inner.func.id
        for node in found
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }
    tops = [node for node in found if node.name not in called]
    return (tops or found)[-1] if found else None


def given_schedule(tree: ast.Module) -> str:
    """The name that top-level statements call methods of without making it, e.g. "sch", or ""."""
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id in _NAMES
            ):
                return node.func.value.id
    return ""


def _takes_schedule(node: ast.FunctionDef) -> bool:
    if any(_is_tvmscript(decorator) for decorator in node.decorator_list):
        return False
    for arg in node.args.args:
        note = "" if arg.annotation is None else ast.unparse(arg.annotation)
        if arg.arg in _NAMES or note.split(".")[-1].strip("'\"") == "Schedule":
            return True
    return False


def _is_tvmscript(decorator: ast.expr) -> bool:
    return "prim_func" in ast.unparse(decorator) or "function" in ast.unparse(decorator)


def makes_schedule(node: ast.AST, deep: bool = True) -> bool:
    """Is this (or, `deep`, does it hold) a call of `…Schedule(…)`?"""
    for inner in ast.walk(node) if deep else (node,):
        if isinstance(inner, ast.Call):
            name = inner.func
            last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
            if last == "Schedule":
                return True
    return False


def talks_to_schedule(node: ast.stmt, schedules: set[str], names: dict[str, Any]) -> bool:
    """Does a top-level statement schedule something: call a method of it, or hand it to a helper?

    Building, printing and showing what came out (`tvm.build(sch.mod)`) does not.
    """
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Call):
            continue
        function = inner.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            if function.value.id in schedules and function.attr not in ("show", "copy"):
                return True
        elif isinstance(function, ast.Name) and function.id in names:
            if any(isinstance(arg, ast.Name) and arg.id in schedules for arg in inner.args):
                return True
    loops = isinstance(node, (ast.Assign, ast.AugAssign)) and not any(
        isinstance(inner, ast.Call) for inner in ast.walk(node)
    )
    return loops and bool(schedules)
