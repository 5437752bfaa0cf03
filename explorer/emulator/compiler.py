"""Compile translated CUDA text with the machine's C++ compiler, once per text.

The compiler instruments every memory access (`-fsanitize=thread`, whose calls the runtime answers
itself) and every access to an array of known size (`-fsanitize=bounds,object-size`).  Results are
kept by content in a bounded folder of the user's cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
_INCLUDES = (f"-I{HERE / 'include'}", f"-I{HERE / 'runtime'}")
MAX_CACHE_BYTES = 400 << 20
COMPILE_TIMEOUT_S = 120.0
FIRST_LINK_TIMEOUT_S = 600.0
"""The ziglang wheel builds its C++ library when it first links: over a minute, once per machine."""
LONG_TEXT_LINES = 1200
"""Unrolled kernels beyond this compile without optimisation: 2 s instead of 8, and run once."""

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
    "--param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0 -fno-gnu-unique"
).split()
_CLANG = (
    "-mllvm -tsan-distinguish-volatile=1 -mllvm -tsan-instrument-func-entry-exit=0 "
    "-mllvm -tsan-instrument-read-before-write=1 -fno-sanitize-trap=all"
).split()


class CompileFailed(Exception):
    """The compiler refused a text; the message is its first error."""

    def __init__(self, first: str, details: str) -> None:
        super().__init__(first)
        self.details = details


class Compiler(msgspec.Struct, frozen=True):
    """A C++ compiler that was tried: its command, kind and version line."""

    command: tuple[str, ...]
    kind: str
    version: str

    def flags(self) -> list[str]:
        """Flags for instrumented kernels; part of every cache key."""
        return [*_COMMON, *_cpu_flags(), *_INSTRUMENT, *(_GCC if self.kind == "gcc" else _CLANG)]


def cache_folder() -> Path:
    """The folder of compiled kernels, under XDG_CACHE_HOME (or ~/.cache)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "tvm-schedule-explorer" / "emulator"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@lru_cache(maxsize=1)
def find_compiler() -> Compiler | None:
    """The first of g++, clang++ and the ziglang wheel that compiles the emulator."""
    candidates: list[tuple[tuple[str, ...], str]] = []
    for name, kind in (("g++", "gcc"), ("clang++", "clang")):
        path = shutil.which(name)
        if path:
            candidates.append(((path,), kind))
    if importlib.util.find_spec("ziglang") is not None:
        candidates.append(((sys.executable, "-m", "ziglang", "c++"), "zig"))
    for command, kind in candidates:
        try:
            said = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        first_line = said.stdout.partition("\n")[0]
        if kind == "gcc" and "clang" in said.stdout:
            kind = "clang"
        compiler = Compiler(command, kind, first_line)
        try:
            _header(compiler, compiler.flags())
            runtime_library(compiler)
        except CompileFailed:
            continue
        return compiler
    return None


NO_COMPILER = (
    "no C++ compiler was found: install g++ or clang++, or the ziglang wheel (pip install ziglang)"
)


def runtime_library(compiler: Compiler) -> Path:
    """The emulated device itself, built once per compiler."""
    folder = HERE / "runtime"
    texts = "".join(path.read_text() for path in sorted(folder.iterdir()) if path.is_file())
    flags = [*_COMMON, "-O2", f"-I{folder}"]
    return _build(compiler, texts, flags, source=folder / "runtime.cc")


def kernel_library(compiler: Compiler, cpp: str) -> Path:
    """A translated CUDA text as a shared library.  Raises CompileFailed."""
    flags = compiler.flags()
    if cpp.count("\n") > LONG_TEXT_LINES:
        flags.append("-O0")
    return _with_header(compiler, cpp, flags)


def plain_library(compiler: Compiler, cpp: str) -> Path:
    """Ordinary C++ without instrumentation, for reference evaluators.  Raises CompileFailed."""
    return _with_header(compiler, cpp, [*_COMMON, *_cpu_flags(), *_PLAIN])


def _with_header(compiler: Compiler, cpp: str, flags: list[str]) -> Path:
    header = _header(compiler, flags)
    if compiler.kind == "gcc":
        use = [f"-I{header.parent}", "-include", "emu.h"]
    else:
        use = ["-include-pch", str(header)]
    return _build(compiler, cpp, [*flags, *use, *_INCLUDES], salt=header.parent.name)


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
    key = _key(compiler, texts, flags)
    folder = cache_folder() / f"header-{key}"
    out = folder / ("emu.h.gch" if compiler.kind == "gcc" else "emu.pch")
    if out.exists():
        return out
    command = [
        *compiler.command, *flags, *_INCLUDES, "-x", "c++-header",
        str(HERE / "include" / "emu.h"),
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    _run_to(command, out)
    return out


def _build(
    compiler: Compiler,
    text: str,
    flags: list[str],
    *,
    source: Path | None = None,
    salt: str = "",
) -> Path:
    """A shared library from C++ text (or the file `source`), from the cache when it is there."""
    out = cache_folder() / f"{_key(compiler, text, [*flags, salt])}.so"
    if out.exists():
        out.touch()
        return out
    with tempfile.TemporaryDirectory(prefix="emu-") as folder:
        own = source is not None
        if source is None:
            source = Path(folder) / "kernel.cc"
            source.write_text(text)
        code = Path(folder) / "kernel.o"
        _run_to([*compiler.command, *flags, "-c", str(source)], code)
        # Kernels need no C++ library; with ziglang's driver for C none is built for them.
        driver = [*compiler.command]
        if compiler.kind == "zig" and not own:
            driver[-1] = "cc"
        timeout_s = FIRST_LINK_TIMEOUT_S if own else COMPILE_TIMEOUT_S
        _run_to([*driver, "-shared", "-fPIC", str(code)], out, timeout_s)
    _trim(out.parent)
    return out


def _run_to(command: list[str], out: Path, timeout_s: float = COMPILE_TIMEOUT_S) -> None:
    """Run a compiler that writes `out`, which appears whole or not at all."""
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


def _key(compiler: Compiler, text: str, flags: list[str]) -> str:
    parts = "\0".join([compiler.version, *compiler.command, *flags, text])
    return hashlib.sha256(parts.encode()).hexdigest()[:24]


def _trim(folder: Path) -> None:
    """Forget the libraries used longest ago once the folder is over its bound."""
    files = [(path.stat(), path) for path in folder.glob("*.so")]
    total = sum(stat.st_size for stat, _ in files)
    for stat, path in sorted(files, key=lambda item: item[0].st_mtime):
        if total <= MAX_CACHE_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= stat.st_size
