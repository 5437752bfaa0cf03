"""Rules on values: dtypes, symbolic sizes, scalars, constants, calls of foreign functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explorer.dialect.code import Code, dotted
from explorer.dialect.rules.base import Context, call_text, rule, string
from explorer.dialect.rules.buffers import has_blocks
from explorer.dialect.script import Edit

_FLOAT8 = {
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
    "e4m3_float8x4": "float8_e4m3fnx4",
    "e5m2_float8x4": "float8_e5m2x4",
    "e2m1_float4": "float4_e2m1fn",
}
_DTYPE = re.compile(r"^(?:u?int|b?float|bool)\d*(?:x\d+)?$|^float[468]_\w+$")


@rule(
    "float8",
    era="2023 to 2024",
    before='A: T.Buffer((64,), "e4m3_float8")',
    after='A: T.Buffer((64,), "float8_e4m3fn")',
    why="8-bit floats are named as in ml_dtypes.",
)
def float8(code: Code, context: Context) -> Iterator[Edit]:
    """Old names of 8-bit and 4-bit floats, as strings and as `T.e4m3_float8`."""
    for node in ast.walk(code.tree):
        value = string(node)
        if value in _FLOAT8:
            yield code.replace(node, f'"{_FLOAT8[value]}"')
        elif isinstance(node, ast.Attribute) and dotted(node) in {f"T.{old}" for old in _FLOAT8}:
            yield code.replace(node, f"T.{_FLOAT8[node.attr]}")


@rule(
    "var",
    era="2021 to 2022",
    before='n = T.var("int64")',
    after="n = T.int64()",
    why="A symbolic size is declared by its dtype.",
)
def var(code: Code, context: Context) -> Iterator[Edit]:
    """`T.var("int64")`, `T.SizeVar("n", "int64")` and `T.int64(is_size_var=True)`."""
    for call in code.calls("T.var", "T.SizeVar"):
        args = call.args[-1:] if dotted(call.func) == "T.SizeVar" else call.args[:1]
        dtype = string(args[0]) if args else "int32"
        if dtype and (_DTYPE.match(dtype) or dtype == "handle"):
            yield code.replace(call, f"T.{dtype}()")
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Call) and any(k.arg == "is_size_var" for k in node.keywords):
            kept = [k for k in node.keywords if k.arg != "is_size_var"]
            yield code.replace(node, call_text(code, dotted(node.func), node.args, kept))


@rule(
    "const",
    era="2021 to 2024",
    before='T.const(0, "float32")',
    after="T.float32(0)",
    why="A constant is written by its dtype.",
)
def const(code: Code, context: Context) -> Iterator[Edit]:
    """`T.const(value, dtype)`, also as `tvm.tir.const`."""
    for call in code.calls("T.const"):
        named = [k.value for k in call.keywords if k.arg == "dtype"]
        dtype = string((call.args[1:] + named + [None])[0])
        if dtype and _DTYPE.match(dtype) and call.args:
            yield code.replace(call, f"T.{dtype}({code.source(call.args[0])})")


@rule(
    "scalar",
    era="2021 to 2025",
    before="x: T.float32 = A[vi] * 2.0",
    after="x: T.let[T.float32] = A[vi] * 2.0",
    why=(
        "A name for a value was immutable; today `x = …` makes a scalar buffer, which a block "
        "can't hold."
    ),
)
def scalar(code: Code, context: Context) -> Iterator[Edit]:
    """`x = expression` and `x: T.dtype = expression`, where `x` is set once."""
    for func in code.functions():
        if not (context.legacy or has_blocks(func)):
            continue
        counts: dict[str, int] = {}
        for node in ast.walk(func):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                counts[node.id] = counts.get(node.id, 0) + 1
        for stmt in ast.walk(func):
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                    if counts[name] == 1 and _is_value(value):
                        at = code.end(target)
                        yield Edit(at, at, ": T.let")
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    if value is not None and counts[name] == 1 and _is_type(annotation):
                        yield code.replace(annotation, f"T.let[{code.source(annotation)}]")


def _is_type(annotation: ast.expr) -> bool:
    """`T.float32` or `T.handle("float32")`, but not `T.let`."""
    if isinstance(annotation, ast.Call):
        return dotted(annotation.func) == "T.handle"
    name = dotted(annotation).removeprefix("T.")
    return bool(_DTYPE.match(name)) or name in ("handle", "boolean")


_MAKES = re.compile(
    r"^T\.(?:axis|match_buffer|alloc|sblock_alloc|decl_buffer|Buffer|buffer|var|Var|handle|"
    r"env_thread|launch_thread|comm_reducer|index_map|iter_var|meta_var|allocate|thread_id|"
    r"local_|shared_|target)"
)


def _is_value(value: ast.expr) -> bool:
    """An expression that gives a number, not a buffer, an axis or a symbolic size."""
    match value:
        case ast.BinOp() | ast.Compare() | ast.BoolOp() | ast.UnaryOp():
            return True
        case ast.Subscript(slice=index):
            return not any(isinstance(part, ast.Slice) for part in ast.walk(index))
        case ast.Call(func=func, args=args):
            name = dotted(func)
            declares = not args and _DTYPE.match(name.removeprefix("T."))
            return name.startswith("T.") and not _MAKES.match(name) and not declares
    return False


@rule(
    "foreign-call",
    era="2021 to 2022",
    before='T.call_extern("sqrtf", x, dtype="float32")',
    after='T.call_extern("float32", "sqrtf", x)',
    why="The dtype comes first.",
)
def foreign_call(code: Code, context: Context) -> Iterator[Edit]:
    """`dtype=` of `T.call_extern` and its kin."""
    for call in code.calls(
        "T.call_extern", "T.call_pure_extern", "T.call_llvm_intrin", "T.call_llvm_pure_intrin"
    ):
        dtype = next((k for k in call.keywords if k.arg == "dtype"), None)
        if dtype is not None:
            kept = [k for k in call.keywords if k is not dtype]
            text = call_text(code, dotted(call.func), [dtype.value, *call.args], kept)
            yield code.replace(call, text)
