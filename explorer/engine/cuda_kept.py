"""CUDA binaries that TVM's build makes, kept on disk by content: a race builds a kernel again and
again (each process does that for itself), and compiling takes a second."""

from __future__ import annotations

import functools
import os
from importlib.metadata import version
from typing import Any

import tvm_ffi
from tvm.target import Target as TvmTarget

from explorer.engine import disk_cache

_COMPILE = "tvm_callback_cuda_compile"
_OPTIONS = ("TVM_CUDA_COMPILE_MODE", "TVM_CUDA_PTXAS_REG_LEVEL", "TVM_CUDA_PTXAS_EXTRA_OPTS")
"""What TVM's compilation depends on besides text and target."""


@functools.cache
def keep_builds() -> None:
    """From now on, for this process, TVM's CUDA compilation looks on disk first."""
    compile_cuda = tvm_ffi.get_global_func(_COMPILE)

    def kept(code: str) -> Any:
        target = str(TvmTarget.current(allow_none=True))
        options = [os.environ.get(name, "") for name in _OPTIONS]
        key = disk_cache.key("race", version("apache-tvm"), target, *options, str(code))
        found = disk_cache.load(key, bytes)
        if found is None:
            found = bytes(compile_cuda(code))
            disk_cache.store(key, found)
        return found

    tvm_ffi.register_global_func(_COMPILE, kept, override=True)
