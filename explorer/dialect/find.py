"""Where the modules are in a text, what is imported and which constants stand before them."""

from __future__ import annotations

import ast
import re
from typing import Any

import msgspec

from explorer.dialect.code import Code, decorator_name, parse
from explorer.dialect.constants import NotConstant, evaluate
from explorer.dialect.script import Script
from explorer.errors import LoadError
from explorer.model.loaded import Note

SHOWN_CHARS = 120
"""How much of a line that is not Python a message repeats."""
_MODULE = {"ir_module"}
_FUNCTION = {"prim_func"}
_RELAX = {"R.function", "relax.function", "tvm.script.relax.function"}
_EITHER = {"tvm.script.tir", "tvm.hybrid.script", "tvm.script.tirx"}
_DEFAULT_IMPORTS = {
    "tvm": "tvm",
    "tir": "tvm.script.tir",
    "tirx": "tvm.script.tirx",
    "ty": "tvm.script.ty",
    "T": "tvm.script.tirx",
    "I": "tvm.script.ir",
    "R": "tvm.script.relax",
    "relax": "tvm.script.relax",
    "ir": "tvm.script.ir",
    "ir_module": "tvm.script.ir_module",
    "prim_func": "tvm.script.tir.prim_func",
}


class Place(msgspec.Struct, frozen=True):
    """A module in the text: its name, its node, and the statement lists around it."""

    name: str
    node: ast.ClassDef | ast.FunctionDef
    around: tuple[ast.AST, ...]

    @property
    def bare(self) -> bool:
        """A function without a module around it."""
        return isinstance(self.node, ast.FunctionDef)


class Unknown(msgspec.Struct, frozen=True):
    """A name that the text sets to something that isn't a simple constant."""

    line: int | None
    why: str


class Found(msgspec.Struct, frozen=True):
    """A text taken apart."""

    code: Code
    places: tuple[Place, ...]
    imports: dict[str, str]
    notes: tuple[Note, ...]


def find(script: Script) -> Found:
    """All modules of a text.  Raises LoadError when a module is there but is no Python."""
    code, notes = _parsed(script)
    imports = dict(_DEFAULT_IMPORTS)
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    imports[alias.asname] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    imports = {name: path for name, path in imports.items() if path.split(".")[0] == "tvm"}
    places: list[Place] = []
    _search(code.tree, (code.tree,), imports, places)
    return Found(code, tuple(places), imports, tuple(notes))


def canonical(name: str, imports: dict[str, str]) -> str:
    """A dotted name with its import put in: `tir.block` is `tvm.script.tir.block`."""
    head, _, rest = name.partition(".")
    path = imports.get(head, head)
    return f"{path}.{rest}" if rest else path


def constants_before(
    found: Found, place: Place
) -> tuple[dict[str, Any], dict[str, int | None], dict[str, Unknown], set[str]]:
    """Constants that the module sees: their values, their lines, names that are none, TypeVars."""
    values: dict[str, Any] = {}
    lines: dict[str, int | None] = {}
    unknown: dict[str, Unknown] = {}
    typevars: set[str] = set()

    def forget(target: ast.AST, node: ast.AST, why: str) -> None:
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                values.pop(name.id, None)
                typevars.discard(name.id)
                unknown[name.id] = Unknown(found.code.line(node), why)

    def keep(target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            if len(target.elts) == len(value.elts):
                for one, its in zip(target.elts, value.elts, strict=True):
                    keep(one, its, node)
                return
        if isinstance(target, ast.Name) and _is_typevar(value, target.id):
            forget(target, node, "")
            typevars.add(target.id)
            return
        try:
            _assign(target, evaluate(value, values), values)
        except NotConstant as error:
            forget(target, node, str(error))
            return
        for name in ast.walk(target):
            if isinstance(name, ast.Name):
                lines[name.id] = found.code.line(node)
                typevars.discard(name.id)

    for scope in place.around:
        if isinstance(scope, ast.FunctionDef):
            _defaults(scope, values, unknown, lines, found)
        for stmt in getattr(scope, "body", []):
            if stmt.lineno >= place.node.lineno:
                break
            match stmt:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        keep(target, value, stmt)
                case ast.AnnAssign(target=target, value=value) if value is not None:
                    keep(target, value, stmt)
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    sum_ = ast.BinOp(ast.Name(name, ast.Load()), op, value)
                    keep(ast.Name(name, ast.Store()), sum_, stmt)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    values.pop(name, None)
                    unknown[name] = Unknown(found.code.line(stmt), "it is Python code")
                case ast.Import() | ast.ImportFrom():
                    for alias in stmt.names:
                        name = (alias.asname or alias.name).split(".")[0]
                        unknown[name] = Unknown(found.code.line(stmt), "it is imported")
                case _:
                    for child in ast.walk(stmt):
                        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                            forget(child, stmt, "it is set by code that is not run")
    return values, lines, unknown, typevars


def _assign(target: ast.expr, value: Any, values: dict[str, Any]) -> None:
    """Bind a target (names, nested tuples) to a value.  Raises NotConstant if it does not fit."""
    match target:
        case ast.Name(id=name):
            values[name] = value
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if isinstance(value, (tuple, list)) and len(
            value
        ) == len(elts):
            for one, its in zip(elts, value, strict=True):
                _assign(one, its, values)
        case _:
            raise NotConstant("it is set in a way that is not followed")


def _defaults(
    scope: ast.FunctionDef,
    values: dict[str, Any],
    unknown: dict[str, Unknown],
    lines: dict[str, int | None],
    found: Found,
) -> None:
    """Parameters of a function around the module: their defaults are constants."""
    args = scope.args.posonlyargs + scope.args.args
    defaults: list[ast.expr | None] = [None] * (len(args) - len(scope.args.defaults))
    pairs = list(zip(args, defaults + list(scope.args.defaults), strict=True))
    pairs += list(zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True))
    for arg, default in pairs:
        try:
            if default is None:
                raise NotConstant(f"it is a parameter of {scope.name} without a default")
            values[arg.arg] = evaluate(default, values)
            lines[arg.arg] = found.code.line(scope)
        except NotConstant as error:
            values.pop(arg.arg, None)
            unknown[arg.arg] = Unknown(found.code.line(scope), str(error))


def _is_typevar(value: ast.expr, name: str) -> bool:
    """`n = TypeVar("n")`, as TVM prints symbolic sizes."""
    match value:
        case ast.Call(func=func, args=[ast.Constant(value=str(said))], keywords=[]):
            return said == name and decorator_name(func).split(".")[-1] == "TypeVar"
    return False


def _search(
    node: ast.AST, around: tuple[ast.AST, ...], imports: dict[str, str], places: list[Place]
) -> None:
    """Modules and bare functions below `node`, in source order, not inside one another."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            if _is_module(child, imports):
                places.append(Place(child.name, child, around))
            else:
                _search(child, around, imports, places)
        elif isinstance(child, ast.FunctionDef):
            if _is_prim(child, imports):
                places.append(Place(child.name, child, around))
            else:
                _search(child, (*around, child), imports, places)
        elif isinstance(child, ast.stmt):
            _search(child, around, imports, places)


def _is_module(node: ast.ClassDef, imports: dict[str, str]) -> bool:
    for entry in node.decorator_list:
        name = canonical(decorator_name(entry), imports)
        if name.split(".")[-1] in _MODULE or name in _EITHER:
            return True
    return any(isinstance(one, ast.FunctionDef) and _is_prim(one, imports) for one in node.body)


def _is_prim(node: ast.FunctionDef, imports: dict[str, str]) -> bool:
    for entry in node.decorator_list:
        name = canonical(decorator_name(entry), imports)
        if name.split(".")[-1] in _FUNCTION or name in _EITHER | _RELAX:
            return True
    return False


_START = re.compile(r"^(\s*)@\s*[\w.]*(?:ir_module|prim_func|script\.tir)\b")


def _parsed(script: Script) -> tuple[Code, list[Note]]:
    """The whole text as code; when it is no Python, the parts of it that hold modules."""
    try:
        return Code(script), []
    except SyntaxError:
        pass
    lines = script.lines()
    kept: list[tuple[str, int]] = []
    left: list[int] = []
    n = 0
    while n < len(lines):
        found = _START.match(lines[n][0])
        end = _region(lines, n, len(found[1])) if found else _statement(lines, n)
        if end is None:
            if lines[n][0].strip() and not lines[n][0].lstrip().startswith("#"):
                left.append(lines[n][1])
            n += 1
            continue
        cut = len(found[1]) if found else 0
        kept += [(line[cut:], at) for line, at in lines[n:end]]
        n = end
    notes = (
        [Note(line=left[0], message=f"{len(left)} lines that are no Python were left alone.")]
        if left
        else []
    )
    return Code(Script.of_lines(kept)), notes


def _region(lines: list[tuple[str, int]], start: int, indent: int) -> int:
    """The end of the module that starts with a decorator here.  Raises LoadError."""
    end = start
    headed = False
    while end < len(lines):
        line = lines[end][0]
        width = len(line) - len(line.lstrip())
        if line.strip() and width <= indent and end > start:
            head = line.lstrip()
            if width < indent or headed and not head.startswith((")", "]", "}", "#")):
                break
            headed = headed or head.startswith(("class ", "def "))
        end += 1
    region = Script.of_lines([(line[indent:], at) for line, at in lines[start:end]])
    try:
        parse(region)
    except SyntaxError as error:
        raise syntax_error(error, region) from error
    return end


def _statement(lines: list[tuple[str, int]], start: int) -> int | None:
    """The end of the Python statement that starts at column 0 here, or None."""
    line = lines[start][0]
    if not line.strip() or line[0].isspace():
        return None
    for end in range(start + 1, min(start + 40, len(lines)) + 1):
        following = lines[end][0] if end < len(lines) else ""
        if following[:1].isspace() and following.strip():
            continue
        try:
            tree = parse(Script.of_lines(lines[start:end]))
        except SyntaxError:
            continue
        # One bare word or a chain of them is prose, not code.
        if any(
            not isinstance(stmt, ast.Expr) or isinstance(stmt.value, ast.Call) for stmt in tree.body
        ):
            return end
        return None
    return None


def syntax_error(error: SyntaxError, script: Script) -> LoadError:
    """Python's complaint about a module, at the user's line, with what usually helps."""
    said = error.msg or "invalid syntax"
    do = "Correct this line; compare it with a sample's."
    if isinstance(error, IndentationError):
        do = "Indent the lines as Python wants: four spaces per level; web pages often lose them."
    elif "was never closed" in said:
        do = "Add the missing bracket."
    elif "unterminated" in said:
        do = "Close the string."
    text = (error.text or "").strip()
    shown = text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + " …"
    if said == "invalid syntax" and sum(map(text.count, "([{")) > sum(map(text.count, ")]}")):
        do = "A bracket of this line is not closed."
    return LoadError(
        f"This line is not Python: {said}.",
        f"It reads `{shown}`." if text else "",
        do,
        line=script.line(error.lineno),
        details=str(error),
    )
