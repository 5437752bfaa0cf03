"""The reference of all primitives, written from their docstrings and forms.

`UPDATE_DOCS=1 pytest tests/primitives/test_reference.py` writes docs/primitives.md; the same test
keeps it in step.
"""

from __future__ import annotations

import inspect
import re

import msgspec

from explorer.primitives.base import MENUS, Step, defaults_of

_HEAD = """# Schedule primitives

One step is one call of TVM's `Schedule` (apache-tvm 0.27). Names, order and defaults of the
arguments are TVM's. This page is written from the code
(`UPDATE_DOCS=1 pytest tests/primitives/test_reference.py`).
"""


def markdown(steps: dict[str, type[Step]]) -> str:
    """The whole page: menu by menu, each primitive before → after, and its arguments."""
    parts = [_HEAD]
    for menu in MENUS:
        found = sorted((op, cls) for op, cls in steps.items() if cls.MENU == menu)  # noqa: SIM300
        if found:
            parts.append(f"## {menu or 'From files and traces only'}\n")
            parts += [_primitive(op, cls) for op, cls in found]
    return "\n".join(parts)


def _primitive(op: str, cls: type[Step]) -> str:
    return "\n".join([f"### {op}\n", _body(inspect.getdoc(cls) or ""), _arguments(cls)])


def _body(doc: str) -> str:
    """Prose as it is; the indented lines under "Before:" and "After …:" as code."""
    lines: list[str] = []
    code = False
    for line in doc.splitlines():
        indented = line.startswith("    ")
        if indented and not code:
            lines += ["", "```python"]
        elif code and not indented:
            lines += ["```", ""]
        code = indented
        lines.append(line[4:] if indented else line)
    if code:
        lines.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _arguments(cls: type[Step]) -> str:
    fields = {field.name: field for field in cls.form}
    rows = []
    for name, default in zip(cls.__struct_fields__, defaults_of(cls), strict=True):
        field = fields.get(name)
        label = f": {field.label}." if field else ""
        help = f" {field.help}" if field and field.help else ""
        shown = "" if default is msgspec.NODEFAULT else f" (default `{default}`)"
        rows.append(f"- `{name}`{shown}{label}{help}")
    return "\n".join(rows) + "\n"
