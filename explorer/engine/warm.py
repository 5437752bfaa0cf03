"""Import everything TVM needs once, so that a forked worker never waits for it."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


def warm() -> None:
    """Import TVM, its tensor intrinsics, dlight and MetaSchedule.  About 5 s; later calls are free.

    The intrinsics are some 300 TVMScript functions.  Their decorator asks `inspect.stack()` for
    every frame's module, which searches all loaded modules for each frame of the import machinery:
    15 of the 18 s.  Those frames (`<frozen importlib…>`) have no module to be found.
    """
    with quick_inspect(), _no_gc():
        import tvm
        import tvm.s_tir.dlight
        import tvm.s_tir.meta_schedule
        import tvm.s_tir.tensor_intrin.cuda  # noqa: F401


@contextmanager
def quick_inspect() -> Iterator[None]:
    """Let `inspect.getmodule` answer None at once for frames that no module holds."""
    original = inspect.getmodule

    def getmodule(object: Any, _filename: str | None = None) -> ModuleType | None:
        file = _filename
        if file is None and inspect.isframe(object):
            file = object.f_code.co_filename
        if file is not None and file.startswith("<frozen"):
            return None
        return original(object, _filename)

    inspect.getmodule = getmodule
    try:
        yield
    finally:
        inspect.getmodule = original


@contextmanager
def _no_gc() -> Iterator[None]:
    """Collect no garbage meanwhile: nearly everything that an import makes stays."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
