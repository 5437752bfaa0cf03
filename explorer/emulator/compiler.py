"""Compile translated CUDA text with the machine's C++ compiler, once per text.

The compiler instruments every memory access (`-fsanitize=thread`, whose calls the runtime answers
itself) and every access to an array of known size (`-fsanitize=bounds,object-size`).
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import msgspec

from explorer.emulator import kept
from explorer.emulator.kept import CompileFailed as CompileFailed
from explorer.emulator.kept import cache_folder as cache_folder

HERE = Path(__file__).parent
_INCLUDES = (f"-I{HERE / 'include'}", f"-I{HERE / 'runtime'}")
COMPILE_TIMEOUT_S = 120.0
FIRST_LINK_TIMEOUT_S = 600.0
"""The ziglang wheel builds its C++ library when it first links: over a minute, once per machine."""
LONG_TEXT_LINES = 8000
"""Up to here -O1 compiles as fast as -O0, and its kernels run four times as fast."""

_COMMON = (
    "-std=c++17 -w -fPIC -fno-strict-aliasing -fno-exceptions -fno-rtti -ffp-contract=off "
    "-fno-math-errno -fwrapv -fno-finite-loops"
).split()
_INSTRUMENT = (
    "-O1 -g1 -fvisibility=hidden -fsanitize=thread,bounds,object-size "
    "-ftrivial-auto-var-init=pattern"
).split()
_PLAIN = "-O1 -fvisibility=hidden".split()
_GCC = (
    "--param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0 -fno-gnu-unique "
    "-fno-thread-jumps"  # which would give the lanes of a warp a copy of a place for each branch
).split()
_CLANG = (
    "-mllvm -tsan-distinguish-volatile=1 -mllvm -tsan-instrument-func-entry-exit=0 "
    "-mllvm -tsan-instrument-read-before-write=1 -fno-sanitize-trap=all"
).split()


class Compiler(msgspec.Struct, frozen=True):
    """A C++ compiler that was tried: its command, kind and version line."""

    command: tuple[str, ...]
    kind: str
    version: str

    def flags(self) -> list[str]:
        """Flags for instrumented kernels; part of every cache key."""
        return [*_COMMON, *_cpu_flags(), *_INSTRUMENT, *(_GCC if self.kind == "gcc" else _CLANG)]


ZIGLANG = "ziglang==0.17.1"
"""The C++ compiler that can be had as a wheel; see `explorer.emulator.fetch`."""


def find_compiler() -> Compiler | None:
    """The first of g++, clang++ and the ziglang wheel that compiles the emulator.

    One that is installed while the program runs is found.
    """
    return _tried(_candidates())[0]


def no_compiler() -> str:
    """Why there is none, with what each compiler said that was tried."""
    return "; ".join([NO_COMPILER, *_tried(_candidates())[1]])


NO_COMPILER = (
    "no C++ compiler was found: install g++ or clang++, or fetch one as a wheel "
    f"({sys.executable} -m pip install {ZIGLANG})"
)


def _candidates() -> tuple[tuple[tuple[str, ...], str], ...]:
    """Commands that may be C++ compilers, with their kinds."""
    found: list[tuple[tuple[str, ...], str]] = []
    for name, kind in (("g++", "gcc"), ("clang++", "clang")):
        path = shutil.which(name)
        if path:
            found.append(((path,), kind))
    importlib.invalidate_caches()
    if importlib.util.find_spec("ziglang") is not None:
        found.append(((sys.executable, "-m", "ziglang", "c++"), "zig"))
    return tuple(found)


@lru_cache(maxsize=1)
def _tried(
    candidates: tuple[tuple[tuple[str, ...], str], ...],
) -> tuple[Compiler | None, tuple[str, ...]]:
    """The compiler to use, and why those before it can't be."""
    refused: list[str] = []
    for command, kind in candidates:
        try:
            said = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S
            )
            if kind == "gcc" and "clang" in said.stdout:
                kind = "clang"
            compiler = Compiler(command, kind, said.stdout.partition("\n")[0])
            prepare(compiler)
        except (OSError, subprocess.TimeoutExpired, CompileFailed) as failed:
            name = "ziglang" if kind == "zig" else Path(command[0]).name
            refused.append(f"{name} was tried: {failed}")
            continue
        return compiler, tuple(refused)
    return None, tuple(refused)


def prepare(compiler: Compiler) -> None:
    """Make what all checks share: the emulated device, the headers of kernels and of evaluators.

    Once per compiler, about 3 s; a process that comes meanwhile waits.  Raises CompileFailed.
    """
    with ThreadPoolExecutor(2) as pool:
        runtime = pool.submit(runtime_library, compiler)
        for flags in (compiler.flags(), _plain_flags()):
            _header(compiler, flags)
        runtime.result()


def runtime_library(compiler: Compiler) -> Path:
    """The emulated device itself, built once per compiler."""
    folder = HERE / "runtime"
    texts = "".join(path.read_text() for path in sorted(folder.iterdir()) if path.is_file())
    flags = [*_COMMON, "-O2", f"-I{folder}"]
    out = _library(compiler, texts, flags)
    if out.exists():
        os.utime(out)
    else:
        with kept.alone(out):
            if not out.exists():
                _build(compiler, folder / "runtime.cc", flags, out, [*compiler.command])
    return out


def kernel_library(compiler: Compiler, cpp: str) -> Path:
    """A translated CUDA text as a shared library.  Raises CompileFailed."""
    flags = compiler.flags()
    if cpp.count("\n") > LONG_TEXT_LINES:
        flags.append("-O0")
    return _with_header(compiler, cpp, flags)


def plain_library(compiler: Compiler, cpp: str) -> Path:
    """Ordinary C++ without instrumentation, for reference evaluators.  Raises CompileFailed."""
    return _with_header(compiler, cpp, _plain_flags())


def _plain_flags() -> list[str]:
    return [*_COMMON, *_cpu_flags(), *_PLAIN]


def _with_header(compiler: Compiler, cpp: str, flags: list[str]) -> Path:
    """A shared library from C++ text that has the emulator's header before it."""
    header = _header(compiler, flags)
    if compiler.kind == "gcc":
        use = ["-pipe", f"-I{header.parent}", "-include", "emu.h"]
    else:
        use = ["-include-pch", str(header)]
    flags = [*flags, *use, *_INCLUDES]
    out = _library(compiler, cpp, [*flags, header.parent.name])
    if out.exists():
        os.utime(out)  # used now
    else:
        # Kernels need no C++ library; with ziglang's driver for C none is built for them.
        linker = [*compiler.command[:-1], "cc"] if compiler.kind == "zig" else [*compiler.command]
        with tempfile.TemporaryDirectory(prefix="emu-") as folder:
            source = Path(folder) / "kernel.cc"
            source.write_text(cpp)
            _build(compiler, source, flags, out, linker)
    return out


def _cpu_flags() -> list[str]:
    """Half-precision and fma instructions where this CPU has them."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return []
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    known = set(info.partition("flags")[2].partition("\n")[0].split())
    return [f"-m{flag}" for flag in ("f16c", "fma") if flag in known]


def _header(compiler: Compiler, flags: list[str]) -> Path:
    """The precompiled header; a folder of its own, as g++ looks it up by name."""
    texts = "".join(
        path.read_text()
        for path in sorted([*(HERE / "include").glob("*.h"), HERE / "runtime" / "emu_abi.h"])
    )
    folder = cache_folder() / f"header-{_key(compiler, texts, flags)}"
    out = folder / ("emu.h.gch" if compiler.kind == "gcc" else "emu.pch")
    if not out.exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = str(HERE / "include" / "emu.h")
        command = [*compiler.command, *flags, *_INCLUDES, "-x", "c++-header", source]
        with kept.alone(out):
            if not out.exists():
                kept.run_to(command, out, COMPILE_TIMEOUT_S)
    return out


def _library(compiler: Compiler, text: str, flags: list[str]) -> Path:
    return cache_folder() / f"{_key(compiler, text, flags)}.so"


def _build(
    compiler: Compiler, source: Path, flags: list[str], out: Path, linker: list[str]
) -> None:
    """Compile and link one file to `out`."""
    with tempfile.TemporaryDirectory(prefix="emu-") as folder:
        code = Path(folder) / "kernel.o"
        kept.run_to([*compiler.command, *flags, "-c", str(source)], code, COMPILE_TIMEOUT_S)
        kept.run_to([*linker, "-shared", "-fPIC", str(code)], out, FIRST_LINK_TIMEOUT_S)
    kept.trim(out.parent)


def _key(compiler: Compiler, text: str, flags: list[str]) -> str:
    return kept.key(compiler.version, *compiler.command, *flags, text)
