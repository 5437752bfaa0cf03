"""From an instruction of a compiled kernel back to the line of CUDA text it came from."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path


def source_line(library: Path, pc: int, text: str) -> tuple[int, str]:
    """Line number (1-based) and the line, trimmed; (0, "") where it can't be told.

    `pc` is the return address of an instrumented access, relative to the library.  Needs addr2line,
    which comes with g++; without it verdicts name no line.
    """
    tool = shutil.which("addr2line")
    if not tool or pc <= 0:
        return 0, ""
    try:
        said = subprocess.run(
            [tool, "-i", "-e", str(library), hex(pc - 1)],
            capture_output=True, text=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return 0, ""
    found = re.findall(r"kernel\.cu:(\d+)", said.stdout)
    lines = text.splitlines()
    number = int(found[-1]) if found else 0
    if not 0 < number <= len(lines):
        return 0, ""
    return number, " ".join(lines[number - 1].split())
