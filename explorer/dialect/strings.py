"""Checks of the strings of a module: TVM evaluates some, and code generators write others down.

A quoted size is an expression; a thread axis or a name lands in CUDA text as it is; a function
named by a string is called when the kernel runs.
"""

from __future__ import annotations

import ast
import difflib
import re
from typing import TYPE_CHECKING

from explorer.dialect import vocabulary
from explorer.errors import LoadError

if TYPE_CHECKING:
    from explorer.dialect.expressions import ExpressionChecks

_PLAIN = re.compile(r"^[A-Za-z0-9_.,:/+\-* ]{0,200}$")
_IDENTIFIER = re.compile(r"^[A-Za-z_]\w{0,200}$")
_DOTTED = re.compile(r"^[A-Za-z_][\w.\-]{0,200}$")
_TARGET = re.compile(r"^[A-Za-z0-9_.,:/+\-= {}\"]{0,500}$")
_TARGET_KEYS = set(
    """kind tag keys arch host mcpu mattr mtriple model device num-cores max_num_threads
    max_threads_per_block max_shared_memory_per_block thread_warp_size registers_per_block
    l2_cache_size_bytes supports_float16 supports_int8 from_device""".split()
)
_NAMED = {"thread_binding", "launch_thread", "env_thread", "iter_var", "Var", "var", "buffer"}
_DTYPE_AT = {
    "Buffer": 1,
    "match_buffer": 2,
    "alloc_buffer": 1,
    "sblock_alloc_buffer": 1,
    "decl_buffer": 1,
    "Cast": 0,
    "cast": 1,
}
_COMMON_DTYPES = "float32 float16 bfloat16 float64 int8 int32 int64 uint8 uint32 bool".split()
_FOREIGN = re.compile("import_llvm|import_c|dispatcher")
_TYPES = {
    "T.Buffer",
    "R.Tensor",
    "R.DTensor",
    "R.Shape",
    "R.Prim",
    "R.Tuple",
    "R.Callable",
    "T.match_buffer",
}
_SIZE_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop,
    ast.expr_context,
)  # fmt: skip
_SIZE_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd)


class StringChecks:
    """The part of the allow-list that is about strings; `owner` refuses and walks on."""

    def __init__(self, owner: ExpressionChecks) -> None:
        self.owner = owner

    def plain(self, node: ast.Constant) -> None:
        """A constant in no special place."""
        value = node.value
        if isinstance(value, str) and not _PLAIN.match(value):
            self.owner.refuse(node, "a string with unusual characters")
        if isinstance(value, bytes | complex) or value is Ellipsis:
            self.owner.refuse(node, f"a {type(value).__name__}")
        if isinstance(value, int) and value.bit_length() > 64:
            self.owner.refuse(node, "a number beyond 64 bits")

    def is_text(self, node: ast.expr) -> bool:
        """A string or bytes literal."""
        return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)

    def table(self, node: ast.Dict) -> None:
        """Attributes: plain keys; values may be any text, except what is written down or run."""
        for key, value in zip(node.keys, node.values, strict=True):
            name = self._text(key)
            if name is None or not _PLAIN.match(name):
                self.owner.refuse(node, "a dict whose keys are not plain strings")
            if re.search(_FOREIGN, name):
                self.owner.refuse(node, f"the attribute {name}", "It would link foreign code in.")
            text = self._text(value)
            if text is None:
                self.owner.expression(value)
            elif name == "global_symbol" and not _IDENTIFIER.match(text):
                self.owner.refuse(value, "a function name that is no identifier")

    def call(self, node: ast.Call, path: str, special: str) -> None:
        """The arguments of a call, by what the call does with strings."""
        if special == "target":
            self._target(node)
            return
        if special in vocabulary.CALLS_BY_NAME:
            self._by_name(node, special)
        if special == "reinterpret" and node.args and self._text(node.args[0]) == "handle":
            self.owner.refuse(node, "an address made from a number")
        if special == "attr":
            for arg in node.args:
                if re.search(_FOREIGN, self._text(arg) or ""):
                    self.owner.refuse(node, "the attribute " + (self._text(arg) or ""))
        if special in _DTYPE_AT:
            self._dtype(node, _DTYPE_AT[special])
        sizes = path in _TYPES
        names = special.split(".")[0] in _NAMED
        for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if sizes:
                self.sizes(part)
            for literal in self._own_strings(part):
                if names and not _DOTTED.match(str(literal.value)) and literal.value != "":
                    self.owner.refuse(literal, "a name that is none")
            if not (self.is_text(part) and (sizes or path.startswith("R."))):
                self._argument(part, sizes)

    def _dtype(self, node: ast.Call, at: int) -> None:
        """The dtype of a buffer or a cast: TVM takes any width here and fails when it builds."""
        named = [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
        for value in [*node.args[at : at + 1], *named]:
            text = self._text(value)
            if text is None or text in ("bool", "handle", "void") or vocabulary.DTYPE.match(text):
                continue
            near = difflib.get_close_matches(text, _COMMON_DTYPES, 1, 0.6)
            raise LoadError(
                f"{text} is not a data type.",
                do=f'Write "{near[0] if near else "float32"}".',
                line=self.owner.code.line(value),
            )

    def _argument(self, part: ast.expr, sizes: bool) -> None:
        if sizes and isinstance(part, ast.Tuple | ast.List):
            for item in part.elts:
                if not self.is_text(item):
                    self._argument(item, sizes)
        elif not (isinstance(part, ast.Attribute) and part.attr == "dtype"):
            self.owner.expression(part)
        else:
            self.owner.expression(part.value)

    def sizes(self, tree: ast.AST) -> None:
        """Every string of a type, at any depth: TVM may evaluate it."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._size(node)

    def _own_strings(self, part: ast.expr) -> list[ast.Constant]:
        """String literals of an argument itself or of its tuple, not of calls inside it."""
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            return [part]
        if isinstance(part, ast.Tuple | ast.List):
            return [literal for item in part.elts for literal in self._own_strings(item)]
        return []

    def _size(self, node: ast.Constant) -> None:
        """A dtype, a scope, or a quoted size such as "n * 2", which TVM evaluates."""
        text = str(node.value)
        if _DOTTED.match(text) and "__" not in text or not text:
            return
        try:
            tree = ast.parse(text, mode="eval") if len(text) <= 200 else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        parts = list(ast.walk(tree)) if tree else []
        good = bool(parts) and all(
            isinstance(part, _SIZE_NODES)
            and (
                not isinstance(part, ast.operator | ast.unaryop)
                or isinstance(part, _SIZE_OPERATORS)
            )
            and (not isinstance(part, ast.Constant) or type(part.value) is int)
            and (not isinstance(part, ast.Name) or not part.id.startswith("__"))
            for part in parts
        )
        if not good:
            self.owner.refuse(node, "a quoted size that is no plain arithmetic")

    def _target(self, node: ast.Call) -> None:
        """`T.target("llvm")` or a dict of plain target options."""
        for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
            for one in ast.walk(part):
                if isinstance(one, ast.Dict):
                    for key in one.keys:
                        if self._text(key) not in _TARGET_KEYS:
                            self.owner.refuse(node, f"the target option {self._text(key)}")
                elif isinstance(one, ast.Constant):
                    text = one.value
                    if isinstance(text, str) and (not _TARGET.match(text) or "cl-opt" in text):
                        self.owner.refuse(node, "an unusual target")
                elif not isinstance(one, ast.List | ast.Tuple | ast.expr_context):
                    self.owner.refuse(node, "a target that is not literal")

    def _by_name(self, node: ast.Call, special: str) -> None:
        """A call of a function named by a string, run with the kernel."""
        at = 0 if "packed" in special or special == "call_ffi_kernel" else 1
        name = self._text(node.args[at]) if len(node.args) > at else None
        if name is None:
            self.owner.refuse(node, "a call of a function whose name is not written out")
        known = bool(_IDENTIFIER.match(name)) and name in self.owner.functions
        if special.startswith("call_llvm"):
            known = bool(vocabulary.LLVM.match(name))
        elif special == "call_intrin":
            operator = re.sub(r"^tirx?\.", "", name)
            known = operator != name and operator in vocabulary.TIR
        elif special in ("call_extern", "call_pure_extern"):
            known = known or bool(vocabulary.EXTERN.match(name))
        if not known:
            self.owner.refuse(
                node,
                f"a call of the foreign function {name!r}",
                "Mathematics and CUDA's device functions can be called; write other functions out.",
            )

    def _text(self, node: ast.AST | None) -> str | None:
        return (
            node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
        )
