"""A notebook file (.ipynb) as the Python of its code cells."""

from __future__ import annotations

import json

from explorer.dialect.script import Script
from explorer.model.loaded import Note


def cells(text: str) -> tuple[Script, list[Note]] | None:
    """The code cells joined, lines mapped to lines of the file; None when it is no notebook."""
    if not text.lstrip().startswith("{") or '"cells"' not in text:
        return None
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = book.get("cells")
    if not isinstance(found, list):
        return None
    raw = text.split("\n")
    at = 0
    lines: list[tuple[str, int]] = []
    others = 0
    for cell in found:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            others += 1
            continue
        source = cell.get("source", "")
        joined = "".join(map(str, source)) if isinstance(source, list) else str(source)
        for line in joined.split("\n"):
            at = _find(raw, json.dumps(line, ensure_ascii=False)[1:-1], at)
            lines.append((line, at + 1))
        lines.append(("", at + 1))
    note = f"Notebook: {len(found) - others} code cells joined"
    note += f", {others} other cells left alone." if others else "."
    return Script.of_lines(lines), [Note(line=None, message=note)]


def _find(raw: list[str], line: str, start: int) -> int:
    """The index of the file line that holds `line`, from `start` on; `start` when none does."""
    if not line.strip():
        return start
    return next((n for n in range(start, len(raw)) if line in raw[n]), start)
