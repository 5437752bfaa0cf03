"""What compilers made, kept by content in a bounded folder of the user's cache.

A file appears whole or not at all.  What all checks share is made by one process while the others
wait for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

MAX_CACHE_BYTES = 400 << 20


class CompileFailed(Exception):
    """The compiler refused a text; the message is its first error."""

    def __init__(self, first: str, details: str) -> None:
        super().__init__(first)
        self.details = details


def cache_folder() -> Path:
    """The folder of compiled kernels, under XDG_CACHE_HOME (or ~/.cache)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "tvm-schedule-explorer" / "emulator"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key(*parts: str) -> str:
    """A file name for what depends on `parts` and nothing else."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@contextlib.contextmanager
def alone(out: Path) -> Iterator[None]:
    """Hold what makes `out`: another process or thread that comes here waits.

    The system lets go of it when the process ends, however that happens.
    """
    with out.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:  # not by closing: a process forked meanwhile has the file open, too
            fcntl.flock(lock, fcntl.LOCK_UN)


def run_to(command: list[str], out: Path, timeout_s: float) -> None:
    """Run a compiler that writes `out`.  Raises CompileFailed."""
    fd, temporary = tempfile.mkstemp(dir=out.parent, suffix=".tmp")
    os.close(fd)
    try:
        done = subprocess.run(
            [*command, "-o", temporary], capture_output=True, text=True, timeout=timeout_s
        )
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            raise CompileFailed(errors[0] if errors else done.stderr[-300:], done.stderr[:4000])
        os.replace(temporary, out)
    except subprocess.TimeoutExpired as error:
        raise CompileFailed(f"compiling took longer than {timeout_s:.0f} s", "") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def trim(folder: Path) -> None:
    """Forget the libraries used longest ago once the folder is over its bound."""
    files = [(path.stat(), path) for path in folder.glob("*.so")]
    total = sum(stat.st_size for stat, _ in files)
    for stat, path in sorted(files, key=lambda item: item[0].st_mtime):
        if total <= MAX_CACHE_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= stat.st_size
