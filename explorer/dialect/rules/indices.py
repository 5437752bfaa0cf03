"""Rule on index dtypes: 32-bit literals beside 64-bit sizes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.dialect.code import Code, dotted
from explorer.dialect.rules.base import Context, rule
from explorer.dialect.script import Edit
from explorer.model.loaded import Note

_SHAPED = {
    "T.Buffer": ("shape", "strides"),
    "T.match_buffer": ("shape", "strides"),
    "T.sblock_alloc_buffer": ("shape", "strides"),
    "T.decl_buffer": ("shape", "strides"),
}
_LOOPS = {
    "range",
    "T.grid",
    "T.serial",
    "T.parallel",
    "T.vectorized",
    "T.unroll",
    "T.thread_binding",
}
_AXES = {"T.axis.spatial", "T.axis.reduce", "T.axis.S", "T.axis.R", "T.axis.opaque", "T.axis.scan"}


@rule(
    "index-dtype",
    era="any",
    before="for i, j in T.grid(n, 512):  # n is int64",
    after="for i, j in T.grid(n, T.int64(512)):",
    why="Plain numbers are int32; mixed with an int64 size they make dlight's Matmul fail.",
    marks_legacy=False,
)
def index_dtype(code: Code, context: Context) -> Iterator[Edit]:
    """Plain extents, shapes and domains in a function whose symbolic sizes are all int64.

    The numbers are the same, only wider, so that every index of the function has one dtype.
    """
    typevars = {
        stmt.targets[0].id
        for stmt in code.tree.body
        if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name)
    }
    for func in code.functions():
        wide, narrow = _sizes(func, typevars)
        if not wide or narrow:
            continue
        literals = list(_index_literals(func))
        if not literals:
            continue
        context.notes.append(
            Note(
                line=code.line(func),
                message=f"{func.name}: plain sizes are int64 like {', '.join(sorted(wide))}.",
            )
        )
        for node in literals:
            yield code.replace(node, f"T.int64({code.source(node)})")


def _sizes(func: ast.FunctionDef, typevars: set[str]) -> tuple[set[str], bool]:
    """Names of int64 sizes, and whether there are int32 ones (then nothing is sure)."""
    wide = {
        node.id
        for node in ast.walk(func.args)
        if isinstance(node, ast.Name) and node.id in typevars
    }
    narrow = False
    for node in ast.walk(func):
        match node:
            case ast.Assign(targets=[target], value=value):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                values = value.elts if isinstance(value, ast.Tuple) else [value]
                for name, made in zip(names, values, strict=False):
                    if isinstance(made, ast.Call) and not made.args and isinstance(name, ast.Name):
                        if dotted(made.func) == "T.int64":
                            wide.add(name.id)
                        narrow |= dotted(made.func) == "T.int32"
            case ast.arg(arg=name, annotation=annotation):
                if dotted(annotation) == "T.int64":
                    wide.add(name)
                narrow |= dotted(annotation) == "T.int32"
            case ast.Constant(value=text) if isinstance(text, str):
                # A quoted size such as T.Buffer(("n",), …) declares an int32 one.
                narrow |= str.isidentifier(text) and _is_quoted_size(func, node)
    return wide, narrow


def _is_quoted_size(func: ast.FunctionDef, node: ast.AST) -> bool:
    for arg in ast.walk(func.args):
        if isinstance(arg, ast.Call) and dotted(arg.func) == "T.Buffer" and arg.args:
            if any(one is node for one in ast.walk(arg.args[0])):
                return True
    return False


def _index_literals(func: ast.FunctionDef) -> Iterator[ast.Constant]:
    for call in ast.walk(func):
        if not isinstance(call, ast.Call):
            continue
        name = dotted(call.func)
        places: list[ast.expr] = []
        if name in _SHAPED:
            at = 1 if name == "T.match_buffer" else 0
            places = call.args[at : at + 1]
            places += [k.value for k in call.keywords if k.arg in _SHAPED[name]]
        elif name in _LOOPS:
            places = list(call.args)
        elif name in _AXES:
            places = call.args[:1]
        for place in places:
            yield from _plain_numbers(place)


def _plain_numbers(node: ast.expr) -> Iterator[ast.Constant]:
    """Integer literals of an expression, not those inside a call such as `T.int64(4)`."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            yield node
    elif isinstance(node, ast.Tuple | ast.List):
        for item in node.elts:
            yield from _plain_numbers(item)
