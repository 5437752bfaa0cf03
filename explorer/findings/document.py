"""The page about all findings, made from the checks' own docstrings.

`python -m explorer.findings.document docs/findings.md` writes it.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

HEAD = """# Findings

Static checks on the scheduled module and its lowered kernels. None of them runs a kernel.
This page is made from the checks: `python -m explorer.findings.document docs/findings.md`.

An **error** means the kernel is wrong, is refused, or is not there; a **warning** costs much or is
wrong in some cases; **info** is worth knowing. `check_failed` says that a check could not finish on
this module; the others ran. `not_lowered` says that TVM could not lower a function and no check
explains it better.

Checks of memory look at 64 sampled places (block, warp, loop values) of the first 256 accesses of a
kernel, for the whole warp as the hardware forms it: lanes run along threadIdx.x, then y, then z.
Where sizes are symbolic, the values given are used and named.
"""


def document() -> str:
    """The page as Markdown."""
    from explorer.findings import CHECKS

    rows = [
        f"| [`{code}`](#{code}) | {module.TITLE} | {', '.join(_severities(module))} |"
        for code, module in CHECKS.items()
    ]
    parts = [HEAD, "\n".join(["| code | title | severity |", "|---|---|---|", *rows]), ""]
    for code, module in CHECKS.items():
        text = re.sub(
            r"^(What it is|Why it matters|What to try): ", r"**\1.** ",
            (module.__doc__ or "").strip(), flags=re.MULTILINE,
        )  # fmt: skip
        parts += [f"## {code}\n\n{module.TITLE}.\n\n{text}\n"]
    return "\n".join(parts)


def _severities(module: Any) -> list[str]:
    source = inspect.getsource(module)
    if "engine.unbound" in source:
        return ["error"]
    return [name for name in ("error", "warning", "info") if f'"{name}"' in source]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), encoding="utf-8")
