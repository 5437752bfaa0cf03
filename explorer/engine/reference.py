"""What a function should compute: TensorIR evaluated, and the LLVM build as a second word."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.target import Target as TvmTarget

from explorer.engine.lower import LOWERING_ERRORS, only

FILL = 0xFF
"""The byte that intermediate buffers hold before they are written, unless told otherwise."""


class InvalidInputs(Exception):
    """The reference itself leaves a buffer on these inputs; the message names the buffer."""


class Evaluator:
    """A compiled evaluator (see `evaluator`)."""

    def __init__(self, library: Path, *, skips: bool) -> None:
        """`skips`: the heavy part is left out for elements that are not needed."""
        self.skips = skips
        loaded = ctypes.CDLL(str(library))
        self._fill = ctypes.c_ubyte.in_dll(loaded, "ref_fill")
        self._call = loaded.evaluate
        self._call.restype = ctypes.c_char_p

    def run(
        self,
        arrays: list[np.ndarray],
        symbols: list[int],
        scalars: list[float],
        needed: list[np.ndarray | None] | None = None,
        fill: int = FILL,
    ) -> None:
        """Evaluate in place; reductions only where `needed`, if given.

        `fill` is the byte that intermediate buffers hold before they are written.  Raises
        InvalidInputs.
        """
        self._fill.value = fill
        pointers = (ctypes.c_void_p * max(len(arrays), 1))(*(a.ctypes.data for a in arrays))
        sizes = (ctypes.c_int64 * max(len(symbols), 1))(*symbols)
        numbers = (ctypes.c_double * max(len(scalars), 1))(*scalars)
        marks = (ctypes.c_void_p * max(len(arrays), 1))()
        for at, mark in enumerate(needed or ()):
            marks[at] = None if mark is None else mark.ctypes.data
        left = self._call(pointers, sizes, numbers, marks)
        if left is not None:
            raise InvalidInputs(left.decode())


class Llvm:
    """The unscheduled function built for this processor."""

    def __init__(self, mod: ir.IRModule, name: str) -> None:
        """Raises one of LOWERING_ERRORS when LLVM can't have it (thread bindings, erf …)."""
        functions = dict(mod.functions_items())
        functions[mod.get_global_var(name)] = mod[name].without_attr("target")
        alone = only(ir.IRModule(functions), name)
        self._call = tirx.build(alone, target=TvmTarget("llvm"))[name]

    def run(
        self, arrays: list[np.ndarray], dtypes: list[str], order: list[Any], numbers: set[int]
    ) -> list[np.ndarray]:
        """Results for compact arrays.

        `order` lists the arguments: positions of arrays, and plain numbers at the places `numbers`.
        """
        tensors = []
        for array, dtype in zip(arrays, dtypes, strict=True):
            tensor = tvm.runtime.empty(array.shape, dtype, tvm.cpu())
            if array.size:
                ctypes.memmove(_data(tensor), array.ctypes.data, array.nbytes)
            tensors.append(tensor)
        self._call(*(each if at in numbers else tensors[each] for at, each in enumerate(order)))
        out = []
        for array, tensor in zip(arrays, tensors, strict=True):
            result = np.empty_like(array)
            if array.size:
                ctypes.memmove(result.ctypes.data, _data(tensor), array.nbytes)
            out.append(result)
        return out


def llvm_or_none(mod: ir.IRModule, name: str) -> Llvm | None:
    """The LLVM build, or None where there is none.

    fp8 is left to the evaluator: 0.27's LLVM code for it misreads numbers below 2**-6.
    """
    if any(str(getattr(var, "dtype", "")).startswith("float8") for var in mod[name].params):
        return None
    try:
        return Llvm(mod, name)
    except LOWERING_ERRORS:
        return None


def _data(tensor: Any) -> int:
    """Address of a tensor's memory."""
    return int(tvm_ffi.from_dlpack(tensor).data_ptr())
