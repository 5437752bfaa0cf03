"""The page docs/dialects.md, written from the rules: `python -m explorer.dialect.table`."""

from __future__ import annotations

from explorer.dialect import code
from explorer.dialect.clean import STAGES
from explorer.dialect.rules import RULES

_HEAD = """\
# Dialects of TVMScript

A text is cleaned, its module is found, constants are filled in, old forms are rewritten, and the
result is checked against an allow-list before TVM 0.27 reads it. Nothing in the text is run. Every
rewrite is shown with its line. This page is written by `python -m explorer.dialect.table`.

## Rules

In the order in which they are applied.

| rule | written | before | after | why |
|---|---|---|---|---|
"""

_CLEANING = """
## Cleaning

What a text goes through before it is read as Python.

| step | why |
|---|---|
"""

_CONSTANTS = f"""
## Constants

Names that the module takes from the text around it are worked out when they are numbers, strings,
tuples, lists and dicts of those, arithmetic and comparisons, `min`, `max`, `abs`, `int`, `float`,
`round`, `len`, `sum`, and `math.ceil` and its kin; defaults of a function around the module count.
Everything else is named with its line, and with what to write: `N = 128`.

## What is refused

- Python in the module: imports, comprehensions, lambdas (but in `T.comm_reducer`), f-strings,
  classes, inner functions, `T.inline`, `T.macro`, calls of anything but `T.`, `R.` and `I.`
  functions that build IR, names with double underscores.
- Calls of functions by name (`T.call_extern`, `T.call_packed`, `T.call_intrin`) other than
  mathematics, CUDA's device functions and functions of the module; foreign code in attributes
  (`pragma_import_c`, `pragma_import_llvm`); CUDA source in strings; addresses made from numbers.
- Quoted sizes that are more than arithmetic, numbers beyond 64 bits, lists that are multiplied.
- More than {code.MAX_CHARS:,} characters of Python, {code.MAX_NODES:,} syntax nodes or
  {code.MAX_DEPTH} levels of nesting.

Relax functions that TVM 0.27 can't read are left out with a note when the module has PrimFuncs.
"""


def page() -> str:
    """The whole page."""
    rules = "".join(
        f"| `{one.name}` | {one.era} | {_cell(one.before)} | {_cell(one.after)} | {one.why} |\n"
        for one in RULES
    )
    cleaning = "".join(f"| `{name}` | {why} |\n" for name, why in STAGES)
    return _HEAD + rules + _CLEANING + cleaning + _CONSTANTS


def _cell(text: str) -> str:
    """Code in a table's cell; lines are kept with their indentation."""
    lines = []
    for line in text.split("\n"):
        body = line.lstrip(" ").replace("|", "\\|")
        pad = "&nbsp;" * (len(line) - len(line.lstrip(" ")))
        lines.append(f"{pad}`{body}`" if body else "(removed)")
    return "<br>".join(lines)


if __name__ == "__main__":
    print(page(), end="")
