"""The sample modules: one kernel a file, its docstring's first line the title."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parents[1] / "sample_modules"


class Sample(msgspec.Struct, frozen=True):
    """A module to start from.  `name` is its file's name, `about` what to look at and try."""

    name: str
    title: str
    about: str
    text: str


@lru_cache(maxsize=1)
def samples() -> tuple[Sample, ...]:
    """All samples, in the order of their file names: from simple to demanding."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.py")))


def sample(name: str) -> Sample:
    """The sample of that name.  Raises KeyError."""
    for one in samples():
        if one.name == name:
            return one
    raise KeyError(name)


def _read(path: Path) -> Sample:
    text = path.read_text(encoding="utf-8")
    title, _, about = (ast.get_docstring(ast.parse(text)) or path.stem).partition("\n")
    return Sample(path.stem, title, " ".join(about.split()), text)


FIRST = samples()[0].name
"""What a new page opens."""
