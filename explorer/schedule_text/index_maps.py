"""Index maps in schedule texts: lambdas are kept as text, in the plain form that steps hold."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


def plain_index_map(node: ast.Lambda, find: Callable[[str], Any] | None = None) -> str:
    """The lambda as text, with the file's own numbers filled in and typed constants made plain.

    `find` looks a name of the file up and raises KeyError.  What else stands in it is left for the
    index map's own reader to refuse.
    """
    return ast.unparse(_Plain({arg.arg for arg in node.args.args}, find).visit(node))


class _Plain(ast.NodeTransformer):
    def __init__(self, own: set[str], find: Callable[[str], Any] | None) -> None:
        self.own, self.find = own, find

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.own or self.find is None:
            return node
        try:
            value = self.find(node.id)
        except KeyError:
            return node
        return ast.copy_location(ast.Constant(value), node) if type(value) is int else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`tvm.tirx.IntImm("int64", 0)`, as exported scripts have it, is `T.int64(0)`."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("IntImm", "const"):
            values = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            numbers = [value for value in values if type(value) is int]
            types = [value for value in values if value in ("int32", "int64")]
            if len(node.args) == 2 and len(numbers) == len(types) == 1:
                return ast.parse(f"T.{types[0]}({numbers[0]})", mode="eval").body
        return self.generic_visit(node)
