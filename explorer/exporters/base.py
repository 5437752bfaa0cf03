"""The contract of an export format, and what every format is made from.

A format is one file in this folder with `NAME` (its key), `LABEL` (for menus), `SUFFIX` (of the
file) and `render(material) -> str`.  Formats are text from plain data; whether a text reproduces
the variant is proved by the engine (`explorer.engine.export`), which runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from explorer.experiment import Experiment, Variant
from explorer.model.loaded import Loaded
from explorer.model.nest import Nest
from explorer.model.result import Build
from explorer.model.target import Target


@dataclass(frozen=True, kw_only=True)
class Material:
    """One variant and all that became of it."""

    experiment: Experiment
    variant: Variant
    target: Target
    loaded: Loaded
    lines: tuple[str, ...]
    """The schedule as Python, working on `sch`."""
    nest: Nest
    """The nest after the steps."""
    script: str
    """TVMScript after the steps."""
    trace_json: str
    """TVM's own trace of the steps."""
    build: Build
    check: str
    """What is known about the results, in words; "" when nothing was checked."""
    versions: tuple[tuple[str, str], ...]
    """Program and version, this tool first."""


class Format(Protocol):
    """A module of this folder."""

    NAME: str
    LABEL: str
    SUFFIX: str

    def render(self, material: Material) -> str:
        """The text of the file."""


def heading(material: Material) -> list[str]:
    """What a reader of the file wants to know first, as plain lines."""
    title = material.experiment.title or material.loaded.module or "module"
    made = ", ".join(f"{program} {version}" for program, version in material.versions)
    lines = [
        f"{title}: schedule {material.variant.name}",
        "",
        f"Made with {made}.",
        f"Target: {material.target.tag} ({material.target.arch or material.target.kind}).",
    ]
    lines += [f"Assumed: {note}." for note in material.target.assumed]
    lines.append(f"Checked: {material.check or 'nothing was run when this was saved'}.")
    if material.loaded.migrations:
        rules = dict.fromkeys(change.rule for change in material.loaded.migrations)
        lines.append(f"The module was brought to today's dialect by: {', '.join(rules)}.")
    return [line.replace("..", ".") if line.endswith("..") else line for line in lines]
