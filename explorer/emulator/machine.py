"""The emulated device from Python: memory, launches and what was seen in them."""

from __future__ import annotations

import ctypes
from typing import Any

import msgspec
import numpy as np

from explorer.emulator import compiler as cc
from explorer.emulator.translate import Program, translate


class Actor(msgspec.Struct, frozen=True):
    """A thread that did something: block and thread index (x, y, z), where, and what."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    pc: int
    verb: str


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something seen in a launch.  `offset` and sizes in bytes; absent parts are None or empty."""

    why: str = ""
    kernel: str = ""
    buffer: str = ""
    offset: int = 0
    bytes: int = 0
    size: int = 0
    elem: int = 1
    shared: bool = False
    address: int = 0
    line: int = 0
    column: int = 0
    other_line: int = 0
    index: int = 0
    type: str = ""
    mask: str = ""
    arrived: int = 0
    threads: int = 0
    who: Actor | None = None
    other: Actor | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run showed.

    `fatal` names the event that ended it ("" when it ran through): out_of_bounds, misaligned,
    array_bounds, deadlock, cannot_launch, limit, cp_async, arithmetic, trap or crash.
    `same_value` counts conflicts in which the stored value did not change.
    """

    fatal: str
    fatal_detail: Event | None
    races: int
    race: Event | None
    same_value: int
    uninitialised: int
    uninitialised_where: Event | None
    launches: int
    blocks: int
    all_blocks: int


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Launch limits of the GPU: threads per block, shared memory in bytes."""

    max_threads: int = 1024
    static_shared_bytes: int = 49152
    shared_bytes: int = 101376


ORDERS = ("forward", "backward", "shuffled")
_TAGS = {"blockIdx": 0, "threadIdx": 3}


class Machine:
    """One emulated device.  A process has one: its memory is the process's own."""

    def __init__(self, compiler: cc.Compiler) -> None:
        self.compiler = compiler
        self._lib = ctypes.CDLL(str(cc.runtime_library(compiler)), mode=ctypes.RTLD_GLOBAL)
        lib = self._lib
        lib.emu_buffer.restype = ctypes.c_void_p
        lib.emu_buffer.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
        lib.emu_end.restype = ctypes.c_char_p
        lib.emu_begin.argtypes = [ctypes.c_double]
        lib.emu_configure.argtypes = [
            ctypes.c_int, ctypes.c_uint, ctypes.c_int, ctypes.c_int,
            ctypes.c_long, ctypes.c_long, ctypes.c_double,
        ]  # fmt: skip
        lib.emu_written.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]
        lib.emu_epoch.restype = ctypes.c_uint32
        if lib.emu_open():
            raise MemoryError("no room for the emulated device's address space")

    def buffer(
        self, name: str, shape: tuple[int, ...], dtype: Any, *, role: str = "inout"
    ) -> np.ndarray:
        """A buffer in device memory as an array; an access outside it ends the launch.

        `role`: "in" (who reads it is not recorded: it must not change), "out" (a read before a
        write is noted) or "inout".
        """
        kind = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        address = self._lib.emu_buffer(
            name.encode(), count * kind.itemsize, kind.itemsize, ("out", "inout", "in").index(role)
        )
        if not address:
            raise MemoryError(f"no room for buffer {name} in the emulated device")
        raw = (ctypes.c_ubyte * max(count * kind.itemsize, 1)).from_address(address)
        return np.frombuffer(raw, dtype=np.uint8)[: count * kind.itemsize].view(kind).reshape(shape)

    def clear(self) -> None:
        """Free all buffers; arrays over them must not be used any more."""
        self._lib.emu_clear()

    def configure(
        self, order: str, seed: int, poison: int, limits: Limits, fraction: float = 1.0
    ) -> None:
        """How launches run: order of threads and blocks, poison byte, fraction of blocks run.

        The sample of blocks depends on `seed` only; it has the first and the last block.
        """
        self._lib.emu_configure(
            ORDERS.index(order), seed, poison, limits.max_threads,
            limits.static_shared_bytes, limits.shared_bytes, fraction,
        )  # fmt: skip

    def launch_params(self, kernel: str, tags: tuple[str, ...]) -> None:
        """Which launch argument is what, as TVM lists them: "blockIdx.x", "threadIdx.y", …"""
        digits = ""
        for tag in tags:
            axis, _, dim = tag.partition(".")
            digits += str(_TAGS[axis] + "xyz".index(dim)) if axis in _TAGS else "6"
        self._lib.emu_launch_params(kernel.encode(), digits.encode())

    def begin(self, seconds: float) -> None:
        """Start a run that may take so long; forget what was seen."""
        self._lib.emu_begin(seconds)

    def end(self) -> Report:
        """What the run showed."""
        return msgspec.json.decode(self._lib.emu_end(), type=Report, strict=False)

    def epoch(self) -> int:
        """A stamp that grows with every launch and barrier, for `written`."""
        return int(self._lib.emu_epoch())

    def written(self, array: np.ndarray, since: int) -> np.ndarray:
        """Which elements of a buffer were stored to after stamp `since`."""
        out = np.zeros(array.size, np.uint8)
        if array.size:
            self._lib.emu_written(array.ctypes.data, out.ctypes.data, since)
        return out.astype(bool).reshape(array.shape)


class _Any(ctypes.Structure):
    """TVM FFI's argument cell."""

    _fields_ = [("type_index", ctypes.c_int), ("padding", ctypes.c_uint), ("value", ctypes.c_int64)]


class Kernels:
    """A compiled CUDA text whose kernels can be launched directly, as the tests do."""

    def __init__(self, machine: Machine, cuda: str, arch: str = "sm_80") -> None:
        self.program: Program = translate(cuda, arch)
        self.path = cc.kernel_library(machine.compiler, self.program.cpp)
        self._machine = machine
        self._lib = ctypes.CDLL(str(self.path))

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        *args: Any,
        dynamic_bytes: int = 0,
    ) -> None:
        """Launch a kernel; arrays must come from `Machine.buffer`, the rest are ints or floats."""
        axes = "xyz"
        tags = tuple(f"blockIdx.{a}" for a in axes) + tuple(f"threadIdx.{a}" for a in axes)
        self._machine.launch_params(kernel, (*tags, "dynamic"))
        dims = [*grid, *(1,) * (3 - len(grid)), *block, *(1,) * (3 - len(block)), dynamic_bytes]
        cells = (_Any * (len(args) + 7))()
        for cell, arg in zip(cells, [*args, *dims], strict=True):
            if isinstance(arg, np.ndarray):
                cell.value = arg.ctypes.data
            elif isinstance(arg, float):
                cell.value = np.float64(arg).view(np.int64)
            else:
                cell.value = int(arg)
        result = _Any()
        call = getattr(self._lib, f"__tvm_ffi_{kernel}")
        call(None, cells, len(cells), ctypes.byref(result))
