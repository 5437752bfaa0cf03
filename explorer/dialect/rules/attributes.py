"""Rules on attributes: of functions, blocks, loops and decorators."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.dialect.code import Code, decorator_name, dotted
from explorer.dialect.rules.base import Context, rule, string
from explorer.dialect.rules.buffers import has_blocks
from explorer.dialect.script import Edit


@rule(
    "tir-attribute",
    era="2021 to 2025",
    before='T.func_attr({"tir.noalias": True})',
    after='T.func_attr({"tirx.noalias": True})',
    why="TensorIR's attributes are called tirx.… in 0.27; the old names are not honoured.",
)
def tir_attribute(code: Code, context: Context) -> Iterator[Edit]:
    """Keys `tir.…` of functions, blocks, loops and modules, and operators `tir.…` by name."""
    for node in ast.walk(code.tree):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            keys = list(node.keys)
        elif isinstance(node, ast.Call) and dotted(node.func) == "T.call_intrin":
            keys = list(node.args[1:2])
        for key in keys:
            value = string(key)
            if key is not None and value and value.startswith("tir."):
                yield code.replace(key, f'"tirx.{value[4:]}"')


@rule(
    "attribute-boolean",
    era="2022 to 2024",
    before='T.func_attr({"tir.noalias": T.bool(True)})',
    after='T.func_attr({"tirx.noalias": True})',
    why="TVM 0.27 wants a plain truth value there: building the function fails with T.bool(True).",
)
def attribute_boolean(code: Code, context: Context) -> Iterator[Edit]:
    """`T.bool(True)` as the value of a function's attribute."""
    for call in code.calls("T.func_attr"):
        for node in ast.walk(call):
            if not isinstance(node, ast.Dict):
                continue
            for value in node.values:
                if (
                    isinstance(value, ast.Call)
                    and dotted(value.func) in {"T.bool", "T.Bool"}
                    and len(value.args) == 1
                    and isinstance(value.args[0], ast.Constant)
                    and isinstance(value.args[0].value, bool | int)
                ):
                    yield code.replace(value, str(bool(value.args[0].value)))


@rule(
    "s-tir-flag",
    era="any before 0.24, or half-migrated",
    before="@T.prim_func",
    after="@T.prim_func(s_tir=True)",
    why="Without s_tir=True a function is read as TIRx, which has no schedulable blocks.",
    marks_legacy=False,
)
def s_tir_flag(code: Code, context: Context) -> Iterator[Edit]:
    """A function with blocks, or from before the flag existed, that does not say `s_tir=True`."""
    for func in code.functions():
        if not (has_blocks(func) or context.legacy):
            continue
        for entry in func.decorator_list:
            if decorator_name(entry) != "T.prim_func":
                continue
            if not isinstance(entry, ast.Call):
                at = code.end(entry)
                yield Edit(at, at, "(s_tir=True)")
                continue
            flag = next((k for k in entry.keywords if k.arg == "s_tir"), None)
            if flag is None:
                at = code.end(entry) - 1
                comma = ", " if entry.keywords or entry.args else ""
                yield Edit(at, at, f"{comma}s_tir=True")
            elif has_blocks(func) and code.source(flag.value) == "False":
                yield code.replace(flag.value, "True")
