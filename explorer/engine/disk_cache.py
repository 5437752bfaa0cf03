"""Results of slow tools kept on disk by content, within a size limit.

A file that can't be read or written only costs the time to make the result again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TypeVar

import msgspec

LIMIT_BYTES = 256 << 20
T = TypeVar("T")


def folder() -> Path:
    """Where results are kept: `$XDG_CACHE_HOME/tvm-schedule-explorer`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "tvm-schedule-explorer"


def key(*parts: str) -> str:
    """A file name for a result that depends on `parts` and nothing else."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def load(name: str, kind: type[T]) -> T | None:
    """The result kept under `name`, or None."""
    try:
        path = folder() / name
        data = path.read_bytes()
        os.utime(path)
        return msgspec.msgpack.decode(data, type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def store(name: str, value: object) -> None:
    """Keep a result; the least recently used ones go when the folder grows over the limit."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder(), delete=False, prefix=".new-") as file:
            file.write(msgspec.msgpack.encode(value))
        os.replace(file.name, folder() / name)
        _trim()


def _trim() -> None:
    kept = sorted(
        ((path, path.stat()) for path in folder().iterdir() if path.is_file()),
        key=lambda entry: -entry[1].st_mtime,
    )
    total = 0
    for path, stat in kept:
        total += stat.st_size
        if total > LIMIT_BYTES:
            path.unlink(missing_ok=True)
