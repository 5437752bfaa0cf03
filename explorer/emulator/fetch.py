"""Fetch a C++ compiler as a wheel: this program's only download, and only on the user's word."""

from __future__ import annotations

import subprocess
import sys

from explorer.emulator import compiler as cc
from explorer.emulator import kept
from explorer.errors import ToolMissing

PACKAGE = cc.ZIGLANG.replace("==", " ")
DOWNLOAD_BYTES = 101_000_000
"""The wheel for Linux on x86-64, as PyPI lists it."""
TIMEOUT_S = 900.0


def fetch_compiler() -> str:
    """Install the ziglang wheel into this Python, and make what all checks share with it.

    Gives the compiler's version line.  The wheel comes from the index that pip is set up for; its
    first use builds its C++ library, which takes a minute or two.  Raises ToolMissing.
    """
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    try:
        with kept.alone(kept.cache_folder() / "fetch"):
            done = subprocess.run(
                [*command, cc.ZIGLANG], capture_output=True, text=True, timeout=TIMEOUT_S
            )
    except subprocess.TimeoutExpired:
        raise _failed(f"pip took longer than {TIMEOUT_S:.0f} s.") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line.partition(":")[2].strip() for line in said if line.startswith("ERROR:")]
        last = (errors or said or [f"it ended with {done.returncode}"])[-1]
        raise _failed(f"pip says: {last}", done.stderr[-4000:])
    found = cc.find_compiler()
    if found is None:
        raise _failed(f"It is installed, but {cc.no_compiler()}.")
    return found.version


def _failed(why: str, details: str = "") -> ToolMissing:
    return ToolMissing(
        "The compiler could not be fetched.",
        why,
        "Is this machine online? If not, install g++ or clang++ from the system's packages.",
        details=details,
    )
