"""The scheduled module as TVMScript, to be loaded again or read."""

from __future__ import annotations

from explorer.exporters.base import Material, heading

NAME = "tvmscript"
LABEL = "TVMScript of the result"
SUFFIX = ".tvmscript.py"


def render(material: Material) -> str:
    """The script under a heading of comments."""
    comments = "\n".join(f"# {line}".rstrip() for line in heading(material))
    return f"{comments}\n\n{material.script.strip()}\n"
