"""Rules on decorators and on the names under which TVMScript was imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.dialect.code import Code, decorator_name, dotted, own_names
from explorer.dialect.find import canonical
from explorer.dialect.rules.base import Context, parents, rule
from explorer.dialect.script import Edit

_NAMESPACES = {
    "tvm.script.tirx": "T",
    "tvm.script.tir": "T",
    "tvm.script.ty": "T",
    "tvm.script.parser.tirx": "T",
    "tvm.script.parser.tir": "T",
    "tvm.tirx": "T",
    "tvm.tir": "T",
    "tvm.script.ir_module": "I.ir_module",
    "tvm.script.parser.ir_module": "I.ir_module",
    "tvm.script.prim_func": "T.prim_func",
    "tvm.script.ir": "I",
    "tvm.script.parser.ir": "I",
    "tvm.script.relax": "R",
    "tvm.script.parser.relax": "R",
}
_SCRIPTS = {"tvm.script.tir", "tvm.hybrid.script"}


@rule(
    "script-decorator",
    era="2020 to early 2021",
    before="@tvm.script.tir",
    after="@T.prim_func",
    why="One decorator served for functions and modules.",
)
def script_decorator(code: Code, context: Context) -> Iterator[Edit]:
    """`@tvm.script.tir` and `@tvm.hybrid.script`, on a function or a class."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            new = "T.prim_func" if isinstance(node, ast.FunctionDef) else "I.ir_module"
            for entry in node.decorator_list:
                if canonical(decorator_name(entry), context.imports) in _SCRIPTS:
                    yield code.replace(entry, new)


@rule(
    "namespace",
    era="2021 to 2025",
    before="@tvm.script.ir_module",
    after="@I.ir_module",
    why="TVMScript of today is read with I, T and R in scope and nothing else.",
)
def namespace(code: Code, context: Context) -> Iterator[Edit]:
    """`tvm.script.ir_module`, `tir.match_buffer`, `ty.handle`, and whatever an import renamed."""
    up = parents(code.tree)
    for name, bound in own_names(code.tree):
        if name.id in bound or name.id not in context.imports:
            continue
        chain: list[ast.AST] = [name]
        while isinstance(up.get(chain[-1]), ast.Attribute):
            chain.append(up[chain[-1]])
        path = canonical(dotted(chain[-1]), context.imports).split(".")
        head = len(context.imports[name.id].split("."))
        for size in range(len(path), 0, -1):
            short = _NAMESPACES.get(".".join(path[:size]))
            if short is None:
                continue
            node = chain[max(size - head, 0)]
            new = ".".join([short, *path[size:head]])
            if code.source(node) != new:
                yield code.replace(node, new)
            break


@rule(
    "module-decorator",
    era="any",
    before="class Module:",
    after="@I.ir_module\nclass Module:",
    why="A class with PrimFuncs is a module only when it says so.",
    marks_legacy=False,
)
def module_decorator(code: Code, context: Context) -> Iterator[Edit]:
    """A module class without its decorator."""
    for node in code.tree.body:
        if isinstance(node, ast.ClassDef) and not node.decorator_list:
            at = code.start(node)
            yield Edit(at, at, "@I.ir_module\n")


@rule(
    "function-decorator",
    era="2020 to early 2021",
    before="def main(a: T.handle) -> None:",
    after="@T.prim_func\ndef main(a: T.handle) -> None:",
    why="Functions of a module had no decorator of their own.",
)
def function_decorator(code: Code, context: Context) -> Iterator[Edit]:
    """A function of a module class without a decorator."""
    for node in code.tree.body:
        if isinstance(node, ast.ClassDef):
            for func in node.body:
                if isinstance(func, ast.FunctionDef) and not func.decorator_list:
                    at = code.start(func)
                    yield Edit(at, at, f"@T.prim_func\n{code.indent(func)}")


def _renamed(old: str, new: str, era: str, why: str) -> None:
    @rule(old.replace("_", "-"), era=era, before=f"T.{old}(…)", after=f"T.{new}(…)", why=why)
    def renamed(code: Code, context: Context) -> Iterator[Edit]:
        for node in ast.walk(code.tree):
            if dotted(node) == f"T.{old}" and isinstance(node, ast.Attribute):
                yield code.replace(node, f"T.{new}")


_renamed("block_attr", "sblock_attr", "2021 to 2025", "Renamed with T.sblock.")
_renamed("buffer_bind", "match_buffer", "2020", "Renamed in 2021.")
_renamed("buffer_allocate", "alloc_buffer", "2020", "Renamed in 2021.")
_renamed("buffer_decl", "decl_buffer", "2022", "Declares a buffer over existing data.")
