"""The pipeline: clean, find, extract, fill in constants, migrate, check."""

from __future__ import annotations

import ast
from typing import Any

import msgspec

from explorer import error_texts
from explorer.dialect.allow import check
from explorer.dialect.clean import clean
from explorer.dialect.code import Code, own_names
from explorer.dialect.constants import NotConstant, show
from explorer.dialect.find import Found, Place, Unknown, constants_before, find
from explorer.dialect.notebook import cells
from explorer.dialect.recognise import binary, recognise
from explorer.dialect.rules import Context, migrate
from explorer.dialect.schedule_code import schedule_code
from explorer.dialect.script import Edit, Script
from explorer.errors import ForbiddenText, LoadError
from explorer.model.loaded import Migration, Note

MAX_TEXT = 4_000_000

_IMPORTS = "imports, not needed."


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A module ready for TVM's parser.  `script.line` maps its lines to the user's.

    `functions` and `relax` name its PrimFuncs and its Relax functions.
    """

    module: str
    modules: tuple[str, ...]
    script: Script
    migrations: tuple[Migration, ...]
    notes: tuple[Note, ...]
    constants: tuple[tuple[str, str], ...]
    schedule: str


def prepare(text: str, module: str = "") -> Prepared:
    """The module called `module` (the first when empty) of a text.

    Raises LoadError with the user's line; ForbiddenText when it holds Python that is not TVMScript.
    """
    if len(text) > MAX_TEXT:
        raise LoadError(
            f"The text has {len(text):,} characters.",
            f"At most {MAX_TEXT:,} are read.",
            "Paste the module alone.",
        )
    refusal = binary(text)
    if refusal is not None:
        raise refusal
    notebook = cells(text)
    start, notes = notebook if notebook is not None else (Script.of(text), [])
    cleaned, migrations, more = clean(start.text)
    cleaned = Script(cleaned.text, tuple(start.line(at) or 1 for at in cleaned.origin))
    migrations = [msgspec.structs.replace(m, line=start.line(m.line) or 1) for m in migrations]
    notes = [*notes, *(msgspec.structs.replace(note, line=start.line(note.line)) for note in more)]
    found = find(cleaned)
    if not found.places:
        raise recognise(text)
    if (known := error_texts.told_in(text)) is not None:
        said = f"The text holds an error message: {known.sentence()}"
        notes.append(Note(line=known.line, message=said))
    place = _choose(found, module)
    values, lines, unknown, typevars = constants_before(found, place)
    schedule, taken, _ = schedule_code(found, place, values)
    notes += found.notes
    script = _extract(found, place, typevars)
    context = Context(found.imports, legacy=_imports_old(found))
    script, used, filled = _fill(script, values)
    script, migrated = migrate(script, context)
    notes += context.notes
    notes += _ignored(
        found, place, {lines[name] for name in used if lines.get(name)}, typevars, taken
    )
    script, left_out = _checked(script, unknown)
    notes += left_out
    return Prepared(
        module=place.name,
        modules=tuple(one.name for one in found.places),
        script=script,
        migrations=tuple(sorted([*migrations, *filled, *migrated], key=lambda m: m.line)),
        notes=tuple(notes),
        constants=tuple((name, show(values[name])) for name in used),
        schedule=schedule,
    )


def _checked(script: Script, unknown: dict[str, Unknown]) -> tuple[Script, list[Note]]:
    """The script when it passes the allow-list, without Relax functions that can't be read."""
    try:
        check(Code(script), unknown)
    except ForbiddenText:
        raise
    except LoadError as error:
        reduced = without_relax(script)
        if reduced is None:
            raise
        check(Code(reduced), unknown)
        return reduced, [relax_note(error)]
    return script, []


def relax_note(error: LoadError) -> Note:
    """What is said when Relax functions were left out because of `error`."""
    problem = error.problem
    said = " ".join(part for part in (problem.what, problem.why) if part)
    return Note(
        line=problem.line,
        message=f"The Relax functions were left out, as they can't be read: {said}",
    )


def without_relax(script: Script) -> Script | None:
    """The module without its Relax functions, or None when it has none or nothing else."""
    code = Code(script)
    relax = code.functions("R.function")
    if not relax or not code.functions():
        return None
    edits = []
    for func in relax:
        first = min([func.lineno, *(entry.lineno for entry in func.decorator_list)])
        start = code.offset(first, 0)
        edits.append(Edit(start, code.end(func), ""))
    return script.apply(edits)


def _choose(found: Found, module: str) -> Place:
    """The place called `module`; the last of that name, as Python would see it."""
    if not module:
        return found.places[0]
    named = [place for place in found.places if place.name == module]
    if not named:
        known = ", ".join(place.name for place in found.places)
        raise LoadError(
            f"The text has no module {module}.", f"Its modules are {known}.", "Name one of them."
        )
    return named[-1]


def _extract(found: Found, place: Place, typevars: set[str]) -> Script:
    """The lines of the module alone, at column 0; a bare function gets a module around it."""
    node = place.node
    first = min([node.lineno, *(entry.lineno for entry in node.decorator_list)])
    cut = node.col_offset
    lines = [
        (line[cut:] if not line[:cut].strip() else line, at)
        for line, at in found.code.script.lines()[first - 1 : node.end_lineno]
    ]
    origin = lines[0][1]
    if place.bare:
        lines = [(f"    {line}" if line.strip() else line, at) for line, at in lines]
        lines = [("@I.ir_module", origin), ("class Module:", origin), *lines]
    read = {name.id for name, bound in own_names(node) if name.id not in bound}
    sizes = [(f'{name} = TypeVar("{name}")', origin) for name in sorted(typevars & read)]
    return Script.of_lines(sizes + lines)


def _fill(script: Script, values: dict[str, Any]) -> tuple[Script, list[str], list[Migration]]:
    """Constants written in place of their names; their names in order of use."""
    code = Code(script)
    edits: list[Edit] = []
    used: dict[str, None] = {}
    lines: dict[int, list[str]] = {}
    for name, bound in own_names(code.tree):
        if name.id not in values or name.id in bound:
            continue
        try:
            edits.append(code.replace(name, show(values[name.id])))
        except NotConstant as error:
            raise LoadError(
                f"{name.id} can't be written into the module: {error}.",
                do="Write the value in the module itself.",
                line=code.line(name),
            ) from error
        used[name.id] = None
        lines.setdefault(name.lineno, []).append(name.id)
    filled = script.apply(edits)
    before, after = script.text.split("\n"), filled.text.split("\n")
    migrations = [
        Migration(
            rule="constant",
            line=script.line(line) or line,
            before=before[line - 1].strip(),
            after=after[line - 1].strip(),
            why="A module is read alone, without the names around it.",
        )
        for line in sorted(lines)
    ]
    return filled, list(used), migrations


def _imports_old(found: Found) -> bool:
    """The file imports TVMScript as it was called before 0.24."""
    for node in ast.walk(found.code.tree):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if node.module in ("tvm.script", "tvm") and "tir" in names:
                return True
            if (node.module or "").startswith(("tvm.script.tir", "tvm.tir")):
                return True
    return "# from tvm.script import tir as T" in found.code.text


def _ignored(
    found: Found,
    place: Place,
    constants: set[int | None],
    typevars: set[str],
    schedule: set[int],
) -> list[Note]:
    """What else stands in the text, said once per kind."""
    kinds: dict[str, list[int]] = {}
    around = {id(node) for node in place.around}
    for scope in place.around:
        for stmt in getattr(scope, "body", []):
            if stmt is place.node or id(stmt) in around or stmt.lineno in schedule:
                continue
            line = found.code.line(stmt)
            if line is None or line in constants or isinstance(stmt, ast.Return):
                continue
            if isinstance(stmt, ast.Assign) and ast.unparse(stmt.targets[0]) in typevars:
                continue
            if any(stmt is other.node for other in found.places):
                continue
            if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
                continue
            kinds.setdefault(_kind(stmt), []).append(line)
    notes = []
    for kind, lines in kinds.items():
        shown = ", ".join(map(str, lines[:8])) + (", …" if len(lines) > 8 else "")
        word = "Line" if len(lines) == 1 else "Lines"
        notes.append(
            Note(line=lines[0], message=f"{word} {shown}: {kind}", routine=kind == _IMPORTS)
        )
    if schedule:
        notes.append(
            Note(
                line=found.code.script.line(min(schedule)),
                message="Schedule code beside the module was found; it can be opened as steps.",
            )
        )
    return notes


def _kind(stmt: ast.stmt) -> str:
    if isinstance(stmt, ast.Import | ast.ImportFrom):
        return _IMPORTS
    if isinstance(stmt, ast.FunctionDef | ast.ClassDef):
        return "other Python definitions, left alone."
    if isinstance(stmt, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return "assignments that the module does not use, left alone."
    return "code around the module, not run."


__all__ = ["Prepared", "prepare", "relax_note", "without_relax"]
