"""Arrays in emulated device memory as TVM tensors that claim to be on a CUDA device."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import tvm_ffi

_CUDA = 2
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", _Tensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_kept: list[Any] = []
"""What capsules point to; kept for the life of the process that emulates."""


def cuda_tensor(array: np.ndarray, dtype: str) -> Any:
    """A tensor of TVM dtype `dtype` over `array`'s memory, on device cuda:0."""
    kind = tvm_ffi.dtype(dtype)
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*(s // array.itemsize for s in array.strides))
    managed = _Managed()
    managed.tensor = _Tensor(
        array.ctypes.data, _CUDA, 0, array.ndim, int(kind.type_code), int(kind.bits), 1,
        shape, strides if array.ndim else None, 0,
    )  # fmt: skip
    _kept.append((managed, shape, strides, array))
    capsule = _new_capsule(ctypes.addressof(managed), b"dltensor", None)
    return tvm_ffi.from_dlpack(_Carrier(capsule))


class _Carrier:
    """An object that hands out one capsule."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CUDA, 0)
