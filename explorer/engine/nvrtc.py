"""The last word on CUDA text: NVRTC compiles it, without GPU and without toolkit.

0.1 to 0.5 s for most texts, several for very long ones; results are kept on disk by content.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from pathlib import Path
from typing import Any

import msgspec

from explorer.engine import disk_cache
from explorer.errors import ToolMissing

# TVM's text expects these of NVRTC, which has no <stdint.h> and no <math.h> of the host.
_BEFORE = """#include <cuda/std/cstdint>
using cuda::std::int8_t; using cuda::std::int16_t;
using cuda::std::int32_t; using cuda::std::int64_t;
using cuda::std::uint8_t; using cuda::std::uint16_t;
using cuda::std::uint32_t; using cuda::std::uint64_t;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#define __asm__ asm
#define __volatile__ volatile
#line 1 "kernel.cu"
"""
_TRAITS = """#pragma once
namespace cuda { namespace std {
template <class T, T v> struct integral_constant { static constexpr T value = v; };
template <bool v> struct truth : integral_constant<bool, v> {};
template <class A, class B> struct is_same : truth<false> {};
template <class A> struct is_same<A, A> : truth<true> {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class T, class... Ts> inline constexpr bool any_of = (is_same_v<T, Ts> || ...);
template <class T> struct is_floating_point : truth<any_of<T, float, double>> {};
template <class T> struct is_unsigned : truth<any_of<T, bool, unsigned char, unsigned short,
    unsigned, unsigned long, unsigned long long>> {};
template <class T> struct is_signed : truth<any_of<T, char, signed char, short, int, long,
    long long, float, double>> {};
template <class T> struct is_integral : truth<(is_signed<T>::value || is_unsigned<T>::value)
    && !is_floating_point<T>::value> {};
template <bool v, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool v, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
}}
"""
"""The traits that TVM's text asks <cuda/std/type_traits> for: CUDA's own take 1.5 s to read."""
_OWN_HEADERS = {"cuda/std/type_traits": _TRAITS}
_MORE_OF_CUDA = re.compile(
    r"#include\s*<(?!cuda/std/(?:cstdint|type_traits)>)(?:cuda/|cooperative_|nv)"
)

_OPTIONS = (
    "-default-device", "--device-int128", "--use_fast_math",
    "-D__NV_SILENCE_DEPRECATION_BEGIN=", "-D__NV_SILENCE_DEPRECATION_END=",
    "-D__NV_SILENCE_HOST_DEPRECATION_BEGIN=", "-D__NV_SILENCE_HOST_DEPRECATION_END=",
    "-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__",
    "-U__CUDA_NO_BFLOAT16_OPERATORS__", "-U__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-U__CUDA_NO_BFLOAT162_OPERATORS__", "-U__CUDA_NO_BFLOAT162_CONVERSIONS__",
    "--ptxas-options=-v", "--ptxas-options=--register-usage-level=10",
)  # fmt: skip
"""What TVM gives NVRTC when it compiles a kernel itself (tvm.support.nvcc)."""
_LINES = "-lineinfo"
"""For SASS with CUDA lines; the code stays the same."""

_ERROR_LINE = re.compile(r"^kernel\.cu\((\d+)\): (?:catastrophic )?error: (.*)$", re.MULTILINE)
_NO_HEADER = re.compile(r'error: cannot open source file "([^"]+)"')
_PTXAS_ERROR = re.compile(r"^ptxas (?:error|fatal)\s*: (.*)$", re.MULTILINE)
_REPAIR = "Install cuda-bindings and the nvidia-cuda wheels named in requirements.txt."


class Binary(msgspec.Struct, frozen=True):
    """What NVRTC made of a text: cubin (empty when refused) and PTX, or `error` and its `line`.

    `line` counts from 1; `log` has what ptxas says of registers and memory.
    """

    cubin: bytes = b""
    ptx: str = ""
    error: str = ""
    line: int | None = None
    log: str = ""


def compile_text(source: str, arch: str, *, lines: bool = True, keep: bool = True) -> Binary:
    """Compile CUDA text for `arch` ("sm_90").  A refusal is a value.

    `lines` False: the code does not say which line it is of, and is read faster.  `keep` False:
    the caller keeps what it makes of the result, which is not stored itself.

    Raises ToolMissing when the NVRTC wheels are not installed or don't know `arch`.
    """
    known = architectures()
    if arch not in known:
        raise ToolMissing(
            f"NVRTC {version()} can't compile for {arch}.",
            f"It knows {known[0]} to {known[-1]}.",
            "The text was generated but not compiled: pick a newer target to have it checked.",
        )
    options = (*_OPTIONS, _LINES) if lines else _OPTIONS
    key = disk_cache.key("nvrtc", version(), arch, *options, _BEFORE, source)
    kept = disk_cache.load(key, Binary)
    if kept is None or _missing_header(kept):
        kept = _compile(source, arch, options)
        if header := _missing_header(kept):
            # Not the text's fault, and not kept: the header may be there the next time.
            raise ToolMissing(f"The CUDA header {header} is not installed.",
                              "The text was generated but not compiled.", _REPAIR)  # fmt: skip
        if keep:
            disk_cache.store(key, kept)
    return kept


def _missing_header(binary: Binary) -> str:
    """The CUDA header that was included and not found, or ""."""
    found = _NO_HEADER.search(binary.log)
    return found[1] if found and not binary.cubin else ""


@functools.cache
def architectures() -> tuple[str, ...]:
    """The architectures this NVRTC compiles for, oldest first.  Raises ToolMissing."""
    status, numbers = _nvrtc().nvrtcGetSupportedArchs()[:2]
    _check(status)
    suffixes = {number: ("", "a", "f") if number >= 100 else ("", "a") for number in numbers}
    return tuple(
        f"sm_{number}{suffix}"
        for number in sorted(numbers)
        for suffix in (suffixes[number] if number >= 90 else ("",))
    )


@functools.cache
def version() -> str:
    """NVRTC's version, e.g. "13.0".  Raises ToolMissing."""
    status, major, minor = _nvrtc().nvrtcVersion()
    _check(status)
    return f"{major}.{minor}"


def include_folders() -> tuple[Path, ...]:
    """Folders of CUDA's headers in the nvidia wheels.  Raises ToolMissing when there are none."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    for root in roots:
        for headers in sorted(root.glob("cu*/include"), reverse=True):
            if (headers / "cuda_fp16.h").is_file() and (headers / "cccl").is_dir():
                return headers, headers / "cccl"
    raise ToolMissing("The CUDA headers are not installed.", "NVRTC needs them.", _REPAIR)


def _compile(source: str, arch: str, given: tuple[str, ...]) -> Binary:
    nvrtc = _nvrtc()
    lines = ("" if line.strip() == "#include <cuda.h>" else line for line in source.splitlines())
    text = _BEFORE + "\n".join(lines) + "\n"
    options = [f"--gpu-architecture={arch}", *given]
    options += [f"-I{folder}" for folder in include_folders()]
    headers = {} if _MORE_OF_CUDA.search(source) else _OWN_HEADERS
    status, program = nvrtc.nvrtcCreateProgram(
        text.encode(), b"kernel.cu", len(headers),
        [body.encode() for body in headers.values()], [name.encode() for name in headers],
    )  # fmt: skip
    _check(status)
    try:
        encoded = [option.encode() for option in options]
        (done,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        words = log.rstrip(b"\0").decode(errors="replace")
        if int(done) != 0:
            return _refused(words or str(done))
        cubin = _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        ptx = _read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).rstrip(b"\0")
        return Binary(cubin, ptx.decode(errors="replace"), log=words)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _refused(log: str) -> Binary:
    match = _ERROR_LINE.search(log)
    if match:
        return Binary(error=match[2], line=int(match[1]), log=log)
    ptxas = _PTXAS_ERROR.search(log)
    first = next((line.strip() for line in log.splitlines() if "error" in line.lower()), "")
    return Binary(error=ptxas[1] if ptxas else first or log.strip(), log=log)


def _read(size_of: Any, read: Any, program: Any) -> bytes:
    status, size = size_of(program)
    _check(status)
    buffer = bytearray(size)
    (status,) = read(program, buffer)
    _check(status)
    return bytes(buffer)


def _check(status: Any) -> None:
    if int(status) != 0:
        raise ToolMissing("NVRTC does not work here.", str(status), _REPAIR)


@functools.cache
def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as missing:
        raise ToolMissing("NVRTC is not installed.", str(missing), _REPAIR) from missing
    return nvrtc
