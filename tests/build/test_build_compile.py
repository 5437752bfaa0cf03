"""What TVM's runtime gets for CUDA text on a GPU here: a binary from the wheels, for the target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tvm_ffi

from explorer.engine import cuda_compile, nvrtc
from explorer.engine.load import module
from explorer.engine.lower import lower
from explorer.engine.race_build import runtime_module
from explorer.engine.targets import tvm_target
from explorer.errors import ToolMissing
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.targets import resolve

TEXT = 'extern "C" __global__ void f(float* a) { a[threadIdx.x] *= 2.0f; }\n'
BOUND = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
    for i in T.thread_binding(96, thread="threadIdx.x"):
        with T.sblock("B"):
            vi = T.axis.spatial(96, i)
            B[vi] = A[vi] + T.float32(1)
"""


@pytest.fixture(autouse=True)
def no_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine without CUDA's headers but those of the wheels; TVM's own way comes back after."""
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    theirs = tvm_ffi.get_global_func(cuda_compile.CALLBACK)
    yield
    tvm_ffi.register_global_func(cuda_compile.CALLBACK, theirs, override=True)


def compiled(text: str) -> bytes:
    return bytes(tvm_ffi.get_global_func(cuda_compile.CALLBACK)(text))


def test_the_text_of_a_module_is_compiled_for_its_target(tags: tuple[Target, ...]) -> None:
    target = resolve("nvidia/nvidia-a100", tags)
    built = runtime_module(module(Source(BOUND)), target)
    text = str(built.imports[0].inspect_source())
    assert text == lower("main", module(Source(BOUND)), tvm_target(target)).source
    assert compiled(text) == nvrtc.compile_text(text, "sm_80", lines=False).cubin


def test_what_nvrtc_refuses_is_an_error_with_its_words() -> None:
    cuda_compile.use_nvrtc("sm_80")
    with pytest.raises(ValueError, match='NVRTC refuses the text: identifier "missing"'):
        compiled(TEXT.replace("2.0f", "missing"))


def test_without_the_wheels_or_with_nvcc_wanted_it_is_tvms_own_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_compile, "_theirs", lambda: lambda code: b"theirs")
    cuda_compile.use_nvrtc("sm_20")
    assert compiled(TEXT) == b"theirs"
    cuda_compile.use_nvrtc("sm_80")
    assert compiled(TEXT)[:4] == b"\x7fELF"
    monkeypatch.setenv("TVM_CUDA_COMPILE_MODE", "nvcc")
    assert compiled(TEXT) == b"theirs"
    monkeypatch.delenv("TVM_CUDA_COMPILE_MODE")

    def missing(*args: object, **options: object) -> None:
        raise ToolMissing("NVRTC is not installed.")

    monkeypatch.setattr(nvrtc, "compile_text", missing)
    assert compiled(TEXT) == b"theirs"
