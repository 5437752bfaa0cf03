"""What a sentence asks for, as options of the command line.

Sentences are the same everywhere; only the command line says which of its options is meant, and the
page which of its forms.
"""

from __future__ import annotations

import re

REMOTE = "name a remote GPU"
ADDRESS = "Name its host and port"
KEY = "Give the key that the servers were started with"
TRIPLE = "give its LLVM triple"
SCHEDULES = "Race CPU schedules"

_OPTIONS = {
    REMOTE: "--rpc HOST:PORT, or --tracker HOST:PORT --key KEY",
    ADDRESS: "--rpc HOST:PORT, or --tracker HOST:PORT with --key KEY",
    KEY: "--key KEY",
    TRIPLE: "--host-triple aarch64-linux-gnu",
    SCHEDULES: "--schedule NAME=FILE",
}
_SIZES = re.compile(r"Give (\w+(?:, \w+)*) a value\b")


def sizes(names: list[str]) -> str:
    """Asks for values of symbolic sizes."""
    return f"Give {', '.join(names)} a value"


def with_options(text: str) -> str:
    """A sentence with the options of the command line that it is about."""
    for phrase, option in _OPTIONS.items():
        text = text.replace(phrase, f"{phrase} ({option})")
    return _SIZES.sub(lambda found: f"{found[0]} ({_size_options(found[1])})", text)


def _size_options(names: str) -> str:
    return " ".join(f"--size {name}=1024" for name in names.split(", "))
