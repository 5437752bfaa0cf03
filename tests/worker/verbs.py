"""Verbs that misbehave, for the tests only: the program never names this table."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

from explorer.engine import progress
from explorer.errors import StepRefused
from explorer.model.loaded import Source

ANSWERS = {
    name: f"{__name__}:{name}"
    for name in (
        "echo", "pid", "hang", "crash", "blow_up", "bad_alloc", "shout", "print_forever", "leave",
        "refuse", "fail", "count", "start_sleeper", "nice", "nothing_here", "garbage", "grow",
        "warmed", "tell", "autogroup",
    )
}  # fmt: skip
ANSWERS["not_installed"] = "tests.worker.no_such_module:answer"
ANSWERS["no_compiler"] = f"{__name__}:no_compiler"

WARM: list[str] = []
_seen: list[Source] = []
_kept: list[bytearray] = []


def warm_up() -> None:
    """Stands for importing TVM's intrinsics."""
    WARM.append("warm")


def slow_warm_up() -> None:
    time.sleep(1)
    WARM.append("warm")


def aside() -> None:
    """Tell who it is through the pipe named NOTE, and stay."""
    with open(os.environ["NOTE"], "w") as note:
        print(os.nice(0), WARM, file=note, flush=True)
        time.sleep(600)


def warmed() -> list[str]:
    return WARM


def echo(source: Source, times: int = 1) -> list[Source]:
    return [source] * times


def tell(count: int) -> int:
    """Tells 0, 1, … before it answers `count`; hangs then when it is negative."""
    for number in range(abs(count)):
        progress.tell(number)
    if count < 0:
        hang()
    return count


def pid() -> int:
    return os.getpid()


def nice() -> int:
    return os.nice(0)


def autogroup() -> str:
    """The scheduling group of the kernel, "" where it has none."""
    try:
        return Path("/proc/self/autogroup").read_text(encoding="ascii")
    except OSError:
        return ""


def count(source: Source) -> int:
    """How many requests about anything this process has had."""
    _seen.append(source)
    return len(_seen)


def hang() -> int:
    while True:
        time.sleep(60)


def crash(source: Source | None = None) -> int:
    print("last words of a crash", flush=True)
    return int(ctypes.string_at(0)[0])


def leave() -> int:
    os._exit(3)


def blow_up() -> int:
    blocks = []
    while True:
        blocks.append(bytearray(64 << 20))


def bad_alloc() -> int:
    """How TVM reports what its C++ could not allocate."""
    raise RuntimeError("InternalError: std::bad_alloc")


def grow(source: Source, megabytes: int) -> int:
    _kept.append(bytearray(megabytes << 20))
    return os.getpid()


def shout(size: int) -> str:
    return "A" * size


def print_forever() -> int:
    while True:
        print("B" * (1 << 20))


def garbage() -> int:
    """Write straight into every socket this process has."""
    for fd in range(3, 64):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                os.write(fd, b"\x00\x00\x00\x05}}}}}")
    return 1


def refuse() -> int:
    raise StepRefused("It does not apply.", "Loops differ.", "Pick another.", line=7, details="raw")


def fail() -> int:
    raise KeyError("a bug of ours")


def no_compiler() -> int:
    raise ModuleNotFoundError("No module named 'tvm'", name="tvm")


def start_sleeper(source: Source) -> int:
    """Start a process of its own, as a compiler run would be; returns its pid."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid
