"""Rules on Relax functions, as far as they are needed to read the PrimFuncs beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.dialect.code import Code, dotted
from explorer.dialect.rules.base import Context, rule
from explorer.dialect.script import Edit

_KEYWORDS = {"out_sinfo": "out_ty", "sinfo_args": "ty_args"}


@rule(
    "struct-info",
    era="2023 to 2025",
    before='R.call_tir(cls.add, (x,), out_sinfo=R.Tensor((4,), "float32"))',
    after='R.call_tir(cls.add, (x,), out_ty=R.Tensor((4,), "float32"))',
    why="What was struct info is a type now.",
)
def struct_info(code: Code, context: Context) -> Iterator[Edit]:
    """`out_sinfo=` and `sinfo_args=` of Relax calls."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Call) and dotted(node.func).startswith("R."):
            for keyword in node.keywords:
                if keyword.arg in _KEYWORDS:
                    at = code.start(keyword)
                    yield Edit(at, at + len(keyword.arg), _KEYWORDS[keyword.arg])


@rule(
    "call-tir-shape",
    era="2022",
    before='R.call_tir(add, (x,), (4,), dtype="float32")',
    after='R.call_tir(add, (x,), out_ty=R.Tensor((4,), dtype="float32"))',
    why="The result is described by its type.",
)
def call_tir_shape(code: Code, context: Context) -> Iterator[Edit]:
    """`R.call_tir` with a shape and a dtype."""
    for call in code.calls("R.call_tir"):
        dtype = next((k for k in call.keywords if k.arg == "dtype"), None)
        if dtype is not None and len(call.args) == 3:
            func, args, shape = map(code.source, call.args)
            kind = f"R.Tensor({shape}, {code.source(dtype)})"
            yield code.replace(call, f"R.call_tir({func}, {args}, out_ty={kind})")
