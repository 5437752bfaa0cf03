"""fp16, bf16 and fp8 of the emulator against ml_dtypes, every code and many numbers."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from explorer.emulator import compiler as cc

TYPES = {
    "__half": (np.float16, np.uint16),
    "__nv_bfloat16": (ml_dtypes.bfloat16, np.uint16),
    "__nv_fp8_e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "__nv_fp8_e5m2": (ml_dtypes.float8_e5m2, np.uint8),
}


LOOP = """
extern "C" __attribute__((visibility("default")))
void to_float_NAME(const BITS* a, float* b, int n) { for (int i = 0; i < n; i++) b[i] = TO_VALUE; }
extern "C" __attribute__((visibility("default")))
void from_float_NAME(const float* a, BITS* b, int n) {
  for (int i = 0; i < n; i++) b[i] = FROM_VALUE;
}
"""


def _loops(name: str, bits: str, to: str, back: str) -> str:
    text = LOOP.replace("NAME", name).replace("BITS", bits)
    return text.replace("TO_VALUE", to).replace("FROM_VALUE", back)


def _native() -> str:
    return "".join(_loops(name, name, "(float)a[i]", f"{name}(a[i])") for name in TYPES)


def _soft() -> str:
    """fp16 in software, as for compilers without _Float16."""
    return (
        f"#define EMU_RAW static inline\nnamespace soft {{\n{_conversions()}\n}}\n"
        + _loops(
            "__half", "unsigned short", "soft::emu_half_to_float(a[i])",
            "soft::emu_float_to_half(a[i])",
        )
    )  # fmt: skip


@pytest.fixture(scope="module", params=[_native, _soft], ids=["native", "soft"])
def library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    compiler = cc.find_compiler()
    assert compiler is not None
    return ctypes.CDLL(str(cc.plain_library(compiler, request.param())))


def _conversions() -> str:
    """The software branch of emu_half.h."""
    text = (cc.HERE / "include" / "emu_half.h").read_text()
    return text.partition("#else\n")[2].partition("#endif")[0]


def _names(library: ctypes.CDLL) -> list[str]:
    return [name for name in TYPES if hasattr(library, f"to_float_{name}")]


def test_every_code_to_float(library: ctypes.CDLL) -> None:
    for name in _names(library):
        kind, bits = TYPES[name]
        codes = np.arange(np.iinfo(bits).max + 1, dtype=np.uint32).astype(bits)
        got = np.empty(codes.size, np.float32)
        getattr(library, f"to_float_{name}")(
            codes.ctypes.data_as(ctypes.c_void_p), got.ctypes.data_as(ctypes.c_void_p), codes.size
        )
        np.testing.assert_array_equal(got, codes.view(kind).astype(np.float32), err_msg=name)


def test_floats_to_code(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(0)
    for name in _names(library):
        kind, bits = TYPES[name]
        codes = np.arange(np.iinfo(bits).max + 1, dtype=np.uint32).astype(bits)
        exact = codes.view(kind).astype(np.float32)
        exact = exact[np.isfinite(exact)]
        middle = (np.sort(exact)[:-1] / 2 + np.sort(exact)[1:] / 2).astype(np.float32)
        any_ = (rng.standard_normal(20000) * 2.0 ** rng.integers(-12, 8, 20000)).astype(np.float32)
        values = np.concatenate([exact, middle, any_])
        if "fp8" in name:  # beyond the largest number CUDA saturates and ml_dtypes does not
            values = values[np.abs(values) <= float(ml_dtypes.finfo(kind).max)]
        got = np.empty(values.size, bits)
        getattr(library, f"from_float_{name}")(
            values.ctypes.data_as(ctypes.c_void_p), got.ctypes.data_as(ctypes.c_void_p), values.size
        )
        np.testing.assert_array_equal(got, values.astype(kind).view(bits), err_msg=name)
