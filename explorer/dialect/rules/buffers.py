"""Rules on buffers: how they are declared, allocated and matched."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.dialect.code import Code, dotted
from explorer.dialect.rules.base import Change, Context, call_text, parents, rule, string
from explorer.dialect.script import Edit
from explorer.model.loaded import Note

_BLOCK = "T.sblock"
_LOWERED = {"T.allocate", "T.launch_thread", "T.env_thread"}
_DECLARES = (
    "T.Buffer",
    "T.match_buffer",
    "T.alloc_buffer",
    "T.sblock_alloc_buffer",
    "T.decl_buffer",
)
_GONE = {"buffer_type", "type", "axis_separators"}


def has_blocks(func: ast.AST) -> bool:
    """The function holds a schedulable block."""
    return _has_call(func, {_BLOCK})


def _has_call(func: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Call) and dotted(n.func) in names for n in ast.walk(func))


@rule(
    "buffer-brackets",
    era="2022",
    before='A: T.Buffer[(1024,), "float32"]',
    after='A: T.Buffer((1024,), "float32")',
    why="A buffer's type is a call.",
)
def buffer_brackets(code: Code, context: Context) -> Iterator[Edit]:
    """`T.Buffer[shape, dtype]`, with or without a dtype, and `T.Buffer[128, 64]`."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Subscript) and dotted(node.value) == "T.Buffer":
            index = node.slice
            bare = not code.source(index).lstrip().startswith("(")
            if not isinstance(index, ast.Tuple):
                yield code.replace(node, f"T.Buffer({code.source(index)})")
            elif len(index.elts) >= 2 and _is_shape_then_dtype(index.elts):
                yield code.replace(node, call_text(code, "T.Buffer", index.elts, []))
            else:
                text = code.source(index)
                yield code.replace(node, f"T.Buffer(({text}))" if bare else f"T.Buffer({text})")


def _is_shape_then_dtype(elts: list[ast.expr]) -> bool:
    """The second item is a dtype: a string, or a name that stands for one."""
    return string(elts[1]) is not None or isinstance(elts[0], ast.Tuple | ast.List)


@rule(
    "pointer",
    era="2021 to 2023",
    before="a: T.Ptr[T.float32]",
    after='a: T.handle("float32")',
    why="A typed pointer is a T.handle with an element type.",
)
def pointer(code: Code, context: Context) -> Iterator[Edit]:
    """`T.Ptr[T.float32]` and `T.Ptr(T.float32, "shared")`."""
    for node in ast.walk(code.tree):
        args: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and dotted(node.value) == "T.Ptr":
            args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        elif isinstance(node, ast.Call) and dotted(node.func) == "T.Ptr":
            args = node.args
        if args:
            name = dotted(args[0]).removeprefix("T.")
            parts = [f'"{name}"' if name else code.source(args[0])]
            parts += [code.source(arg) for arg in args[1:]]
            yield code.replace(node, f"T.handle({', '.join(parts)})")


@rule(
    "buffer-keywords",
    era="2022 to 2025",
    before='T.match_buffer(a, (128,), "float32", axis_separators=[])',
    after='T.match_buffer(a, (128,), "float32")',
    why="Buffers have a layout now; kind and separators of axes are gone.",
)
def buffer_keywords(code: Code, context: Context) -> Iterator[Edit]:
    """`buffer_type=` and `axis_separators=` of a buffer."""
    for call in code.calls(*_DECLARES):
        if any(keyword.arg in _GONE for keyword in call.keywords):
            kept = [keyword for keyword in call.keywords if keyword.arg not in _GONE]
            yield code.replace(call, call_text(code, dotted(call.func), call.args, kept))


@rule(
    "preflattened",
    era="2022",
    before="T.preflattened_buffer(A, (32, 32), data=A.data)",
    after="",
    why="It only recorded the shape from before flattening.",
)
def preflattened(code: Code, context: Context) -> Iterator[Edit]:
    """`T.preflattened_buffer`, assigned or not."""
    for func in code.functions():
        for stmt in func.body:
            value = getattr(stmt, "value", None)
            if isinstance(value, ast.Call) and dotted(value.func) == "T.preflattened_buffer":
                context.notes.append(
                    Note(
                        line=code.line(stmt),
                        message="The function takes its buffers in flattened shape.",
                    )
                )
                yield code.remove_statement(stmt)


@rule(
    "block-buffer",
    era="2021 to 2025",
    before='B = T.alloc_buffer((128,), "float32")',
    after='B = T.sblock_alloc_buffer((128,), "float32")',
    why=(
        "T.alloc_buffer still exists in 0.27 but means something else: nothing complains, and the "
        "buffer belongs to no block, so that its blocks can't be scheduled."
    ),
)
def block_buffer(code: Code, context: Context) -> Iterator[Edit]:
    """`T.alloc_buffer` in a function with blocks, or in an old one that is not lowered."""
    for func in code.functions():
        if has_blocks(func) or (context.legacy and not _has_call(func, _LOWERED)):
            for node in ast.walk(func):
                if isinstance(node, ast.Attribute) and dotted(node) == "T.alloc_buffer":
                    yield code.replace(node, "T.sblock_alloc_buffer")


@rule(
    "with-statement",
    era="2021 to 2024",
    before='with T.allocate([8], "float32", "local") as C:',
    after='C = T.allocate([8], "float32", "local")',
    why="Declarations are statements; what follows needs no deeper indentation.",
)
def with_statement(code: Code, context: Context) -> list[Change]:
    """`with T.allocate(…) as C:` and the like; one per pass, as bodies move."""
    statements = {"T.allocate", "T.decl_buffer", "T.alloc_buffer", "T.LetStmt"}
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.With) or len(node.items) != 1:
            continue
        call, target = node.items[0].context_expr, node.items[0].optional_vars
        if isinstance(call, ast.Call) and dotted(call.func) in statements:
            var = next((k.value for k in call.keywords if k.arg == "var"), target)
            if var is None:
                continue
            value = call.args[0] if dotted(call.func) == "T.LetStmt" and call.args else call
            let = ": T.let" if dotted(call.func) == "T.LetStmt" else ""
            head = f"{code.source(var)}{let} = {code.source(value)}"
            start, end = code.start(node), code.end(target or call)
            return [Change(tuple(code.unwrap_with(node, head)), code.text[start:end] + ":", head)]
    return []


@rule(
    "allocate",
    era="2021 to 2025",
    before='C = T.allocate([8], "float32", "local")',
    after='C = T.alloc_buffer([8], "float32", scope="local")',
    why="An allocation gives a buffer, no bare pointer.",
)
def allocate(code: Code, context: Context) -> Iterator[Edit]:
    """`T.allocate` as a statement; where the pointer was used, the buffer's `.data` is."""
    up = parents(code.tree)
    for func in code.functions():
        for stmt in ast.walk(func):
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    if dotted(call.func) != "T.allocate" or len(call.args) < 2:
                        continue
                case _:
                    continue
            scope = [f"scope={code.source(arg)}" for arg in call.args[2:3]]
            scope += [code.source(k) for k in call.keywords if k.arg in ("scope", "annotations")]
            parts = [code.source(arg) for arg in call.args[:2]] + scope
            yield code.replace(call, f"T.alloc_buffer({', '.join(parts)})")
            for node in ast.walk(func):
                if (
                    isinstance(node, ast.Name)
                    and node.id == name
                    and isinstance(node.ctx, ast.Load)
                ):
                    if not isinstance(up[node], ast.Subscript | ast.Attribute):
                        yield code.replace(node, f"{name}.data")


@rule(
    "local-buffer",
    era="2022 to 2025",
    before='C = T.Buffer((8,), "float32", data=D.data)',
    after='C = T.decl_buffer((8,), "float32", data=D.data)',
    why="A buffer over existing data is declared by a statement of its own.",
)
def local_buffer(code: Code, context: Context) -> Iterator[Edit]:
    """`T.Buffer(…, data=…)` assigned in a function's body."""
    for func in code.functions():
        for stmt in ast.walk(func):
            match stmt:
                case ast.Assign(targets=[ast.Name()], value=ast.Call(func=made, keywords=keywords)):
                    if dotted(made) == "T.Buffer" and any(k.arg == "data" for k in keywords):
                        yield code.replace(made, "T.decl_buffer")
