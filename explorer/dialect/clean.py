"""Text as it comes from a web page, a prompt or a mail, as the Python it was.

Every change is a `Migration`; text that needs none comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import msgspec

from explorer.dialect.script import Script
from explorer.model.loaded import Migration, Note

_CHARS = {
    **dict.fromkeys("“”„‟″«»＂", '"'),
    **dict.fromkeys("‘’‚‛′＇", "'"),
    **dict.fromkeys("→⟶⇒➜➔", "->"),
    **dict.fromkeys("‐‑‒–—−－", "-"),
    **dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000", " "),
    **{chr(code): " " for code in range(0x2000, 0x200B)},
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f", ""),
    "…": "...",
    "×": "*",
    "∗": "*",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "（": "(",
    "）": ")",
    "，": ",",
    "：": ":",
    "＝": "=",
    "［": "[",
    "］": "]",
}
_ENTITIES = {
    "&gt;": ">",
    "&lt;": "<",
    "&quot;": '"',
    "&#39;": "'",
    "&#x27;": "'",
    "&nbsp;": " ",
    "&amp;": "&",
}
_TYPOGRAPHY = re.compile(
    "|".join([*map(re.escape, _ENTITIES), "[" + re.escape("".join(_CHARS)) + "]"])
)
_FENCE = re.compile(r"^\s*(```+|~~~+)\s*([\w+-]*)")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.)(?: |$)")
_IN = re.compile(r"^(\s*)(?:In \[\d*\]:|\.\.\.+:) ?")
_GUTTER = re.compile(r"^\s*(\d+)(?: ?[|│:] ?|\t|\. | )?")
_UNDERLINE = re.compile(r"^\s*\^[\s^~]*$")
_MAGIC = re.compile(r"^(?:%%?[A-Za-z]|![A-Za-z])")

Lines = list[tuple[str, int]]


def clean(text: str) -> tuple[Script, list[Migration], list[Note]]:
    """The text as plain Python lines, what was changed, and what was left out."""
    notes: list[Note] = []
    migrations: list[Migration] = []
    script = Script.of(re.sub(r"\r\n?|[\u2028\u2029\x0b\x0c]", "\n", text))
    lines = script.lines()
    for stage in _STAGES:
        before = {at: line for line, at in lines}
        lines = stage.run(lines, notes)
        changed = [
            Migration(rule=stage.name, line=at, before=before[at], after=line, why=stage.why)
            for line, at in lines
            if line != before[at]
        ]
        if stage.whole and len(changed) > 1:
            why = f"{stage.why} The same in {len(changed)} lines."
            changed = [msgspec.structs.replace(changed[0], why=why)]
        migrations += changed
    return Script.of_lines(lines), migrations, notes


def _typography(lines: Lines, notes: list[Note]) -> Lines:
    def plain(found: re.Match[str]) -> str:
        return _ENTITIES.get(found[0]) or _CHARS.get(found[0], "")

    return [(_TYPOGRAPHY.sub(plain, line), at) for line, at in lines]


def _fences(lines: Lines, notes: list[Note]) -> Lines:
    """Keep what stands between ``` fences when there are any."""
    if not any(_FENCE.match(line) for line, _ in lines):
        return lines
    kept: Lines = []
    fence = ""
    outside: list[int] = []
    for line, at in lines:
        found = _FENCE.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1][:3]
        elif fence:
            kept.append((line, at))
        elif line.strip():
            outside.append(at)
    if outside:
        notes.append(
            Note(line=outside[0], message="Text outside the ``` code blocks was left alone.")
        )
    return kept


def _quoted(lines: Lines, notes: list[Note]) -> Lines:
    """`> ` in front of every line, as mails and forums quote."""
    filled = [line for line, _ in lines if line.strip()]
    if not filled or not all(re.match(r"^>(?!>>)( |$)", line) for line in filled):
        return lines
    return [(re.sub(r"^> ?", "", line), at) for line, at in lines]


def _prompts(lines: Lines, notes: list[Note]) -> Lines:
    """`>>> `, `... `, `In [3]: `; lines without a prompt among them are output."""
    if any(re.match(r"^\s*>>>( |$)", line) for line, _ in lines):
        kept = [(_PROMPT.sub("", line), at) for line, at in lines if _PROMPT.match(line)]
    elif any(re.match(r"^\s*In \[\d*\]:", line) for line, _ in lines):
        kept = []
        for line, at in lines:
            found = _IN.match(line)
            if found:
                kept.append((line[found.end() :], at))
            elif not re.match(r"^\s*Out\[\d*\]:", line):
                kept.append((line, at))
    else:
        return lines
    left = sorted({at for line, at in lines if line.strip()} - {at for _, at in kept})
    if left:
        notes.append(Note(line=left[0], message="Output between the prompts was left alone."))
    return kept


def _underlines(lines: Lines, notes: list[Note]) -> Lines:
    """Rows of `^^^` under what an error message points at."""
    kept = [(line, at) for line, at in lines if not _UNDERLINE.match(line)]
    if len(kept) < len(lines):
        first = next(at for line, at in lines if _UNDERLINE.match(line))
        notes.append(Note(line=first, message="Underlines of an error message were left out."))
    return kept


def _gutter(lines: Lines, notes: list[Note]) -> Lines:
    """Line numbers in front of every line, rising by one."""
    filled = [line for line, _ in lines if line.strip()]
    numbers = [found[1] for line in filled if (found := _GUTTER.match(line))]
    if len(filled) < 3 or len(numbers) != len(filled):
        return lines
    values = [int(number[:9]) for number in numbers]
    # Blank lines may have lost their number: gaps are fine, going back is not.
    most = 1 + len(lines) - len(filled)
    if any(not 0 < b - a <= most for a, b in pairwise(values)):
        return lines
    return [(_GUTTER.sub("", line, count=1), at) for line, at in lines]


def _magics(lines: Lines, notes: list[Note]) -> Lines:
    """`%timeit`, `!pip install`: notebook commands become comments, so that the rest parses."""
    return [(f"# {line}" if _MAGIC.match(line) else line, at) for line, at in lines]


def _indentation(lines: Lines, notes: list[Note]) -> Lines:
    """Tabs as four spaces, and the common indentation taken away."""

    def spaces(line: str) -> str:
        head = line[: len(line) - len(line.lstrip())]
        return head.replace("\t", "    ") + line.lstrip() if "\t" in head else line

    lines = [(spaces(line), at) for line, at in lines]
    widths = [len(line) - len(line.lstrip(" ")) for line, _ in lines if line.strip()]
    cut = min(widths, default=0)
    if not cut:
        return lines
    return [(line[cut:] if line.strip() else "", at) for line, at in lines]


class Stage(msgspec.Struct, frozen=True):
    """One kind of cleaning; `whole` when it changes lines all alike, which is said once."""

    name: str
    why: str
    run: Callable[[Lines, list[Note]], Lines]
    whole: bool = True


_STAGES = (
    Stage(
        "typography",
        "Web pages and word processors change quotes, arrows and spaces.",
        _typography,
        whole=False,
    ),
    Stage("fence", "A Markdown code block.", _fences),
    Stage("quoted", "Quoted in a mail or forum.", _quoted),
    Stage("prompt", "A Python or notebook prompt.", _prompts),
    Stage("underline", "An error message points at the line above.", _underlines),
    Stage("gutter", "Line numbers in front of the code.", _gutter),
    Stage("notebook-command", "A notebook command is no Python.", _magics, whole=False),
    Stage("indentation", "The code stood indented as a whole, or used tabs.", _indentation),
)

STAGES = tuple((stage.name, stage.why) for stage in _STAGES)
"""Name and reason of every cleaning stage, for the docs."""
