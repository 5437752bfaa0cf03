"""CUDA text that TVM's runtime meets on a GPU here is compiled as everywhere else in this program.

A module that TVM builds carries its text; the runtime has it compiled when it is loaded.  TVM's
own way needs the headers of a CUDA toolkit, and compiles for whatever GPU is there; ours needs the
wheels only, compiles for the target that verdicts and registers are about, and keeps the result.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import tvm.support.nvcc  # noqa: F401 - registers TVM's own way
import tvm_ffi

from explorer.engine import nvrtc
from explorer.errors import ToolMissing

CALLBACK = "tvm_callback_cuda_compile"
_MODE = "TVM_CUDA_COMPILE_MODE"
"""TVM's own switch: with "nvcc" the user wants TVM's way."""


def use_nvrtc(arch: str) -> None:
    """From now on this process's TVM compiles kernels for `arch` ("sm_89") as `nvrtc` does.

    TVM's own way stays where NVRTC is not installed or does not know `arch`, and where the user's
    environment asks TVM for nvcc.
    """
    theirs = _theirs()

    def compiled(code: str) -> Any:
        if os.environ.get(_MODE, "nvrtc").lower() != "nvrtc":
            return theirs(code)
        try:
            binary = nvrtc.compile_text(str(code), arch, lines=False)
        except ToolMissing:
            return theirs(code)
        if not binary.cubin:
            raise ValueError(f"NVRTC refuses the text: {binary.error}")
        return binary.cubin

    tvm_ffi.register_global_func(CALLBACK, compiled, override=True)


@functools.cache
def _theirs() -> Any:
    return tvm_ffi.get_global_func(CALLBACK)
