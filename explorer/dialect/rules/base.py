"""What a migration rule is, and the registry that applies them in order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from explorer.dialect.code import Code
from explorer.dialect.script import Edit, Script
from explorer.model.loaded import Migration, Note

MAX_PASSES = 500


@dataclass
class Context:
    """What rules know besides the text: imports, and whether it is older than today's dialect."""

    imports: dict[str, str]
    legacy: bool = False
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True)
class Change:
    """Edits that belong together; `before` and `after` are shown when whole lines would not do."""

    edits: tuple[Edit, ...]
    before: str = ""
    after: str = ""


Finder = Callable[[Code, Context], Iterable[Edit | Change]]


@dataclass(frozen=True)
class Rule:
    """A named rewrite of old text.  `era` says when the old form was written.

    `marks_legacy` is False for rewrites of today's own forms (they don't date a text).
    """

    name: str
    era: str
    before: str
    after: str
    why: str
    find: Finder
    marks_legacy: bool = True


RULES: list[Rule] = []
"""All rules in the order in which they are applied."""


def rule(
    name: str, *, era: str, before: str, after: str, why: str, marks_legacy: bool = True
) -> Callable[[Finder], Finder]:
    """Register a finder as the rule `name`; rules run in the order of registration."""

    def register(find: Finder) -> Finder:
        RULES.append(Rule(name, era, before, after, why, find, marks_legacy))
        return find

    return register


def migrate(script: Script, context: Context) -> tuple[Script, list[Migration]]:
    """Apply every rule until it finds nothing more.  The text must parse as Python."""
    migrations: list[Migration] = []
    code = Code(script)
    for one in RULES:
        for _ in range(MAX_PASSES):
            changes = [
                change if isinstance(change, Change) else Change((change,))
                for change in one.find(code, context)
            ]
            if not changes:
                break
            migrations += _records(one, code, changes)
            context.legacy |= one.marks_legacy
            edits = [edit for change in changes for edit in change.edits]
            code = Code(code.script.apply(edits))
    return code.script, migrations


def _records(one: Rule, code: Code, changes: list[Change]) -> list[Migration]:
    """One record per changed line, or per change that brings its own texts."""
    records: list[Migration] = []
    by_line: dict[int, list[Edit]] = {}
    for change in changes:
        first = code.text.count("\n", 0, change.edits[0].start) + 1
        if change.before:
            at = code.script.line(first) or first
            records.append(
                Migration(
                    rule=one.name, line=at, before=change.before, after=change.after, why=one.why
                )
            )
            continue
        for edit in change.edits:
            by_line.setdefault(code.text.count("\n", 0, edit.start) + 1, []).append(edit)
    lines = code.text.split("\n")
    starts = [0]
    for text in lines:
        starts.append(starts[-1] + len(text) + 1)
    for line, edits in by_line.items():
        last = code.text.count("\n", 0, max(edit.end for edit in edits)) + 1
        start, end = starts[line - 1], starts[last] - 1
        piece = Script.of(code.text[start:end])
        moved = [Edit(e.start - start, min(e.end, end) - start, e.new) for e in edits]
        records.append(
            Migration(
                rule=one.name,
                line=code.script.line(line) or line,
                before=_trim(piece.text),
                after=_trim(piece.apply(moved).text),
                why=one.why,
            )
        )
    return sorted(records, key=lambda record: record.line)


def _trim(text: str) -> str:
    """Without the common indentation and blank ends."""
    lines = [line.rstrip() for line in text.split("\n")]
    widths = [len(line) - len(line.lstrip()) for line in lines if line]
    cut = min(widths, default=0)
    return "\n".join(line[cut:] for line in lines).strip("\n")


# Small helpers that several rules need.


def call_text(
    code: Code, func: str, args: Iterable[ast.expr], keywords: Iterable[ast.keyword]
) -> str:
    """A call written anew from the source of its parts."""
    parts = [code.source(arg) for arg in args] + [code.source(keyword) for keyword in keywords]
    return f"{func}({', '.join(parts)})"


def string(node: ast.AST | None) -> str | None:
    """The value of a string literal, else None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Each node's parent."""
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
