"""The contract of a baseline: a library's function for an operation, to be raced with variants.

A baseline is one file in this folder with

- `NAME` (its key), `LABEL` (for rows), `PACKAGE` (what is imported), `PROCESSORS` it runs on;
- `version(processor, device) -> str`: library, version and what it computes with;
- `offer(operation, buffers, processor, device) -> Call`: raises NotOffered.

Both are called in a process of their own, and only there the library is imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from explorer.model.operation import UNIT, Operand, Operation

Processor = Literal["cpu", "cuda"]
Array = np.ndarray
FLUSH_BYTES = 256 << 20


class NotOffered(Exception):
    """The library has no function for this, or refuses it; the message is a sentence."""


@dataclass(frozen=True)
class Buffer:
    """A parameter of the function."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(kw_only=True)
class Call:
    """A call of the library on arrays of its own.

    `fill` puts contents into all buffers, in the order of the function's; `run` is the call;
    `seconds` its mean time over some calls, after one that is not timed, with cold caches or as
    they are; `result` the contents of the output.
    """

    what: str
    """E.g. "numpy.matmul"."""
    fill: Callable[[Sequence[Array]], None]
    run: Callable[[], object]
    seconds: Callable[[int, bool], float]
    result: Callable[[], Array]


class Baseline(Protocol):
    """A module of this folder."""

    NAME: str
    LABEL: str
    PACKAGE: str
    PROCESSORS: tuple[Processor, ...]

    def version(self, processor: Processor, device: int) -> str:
        """Library and version, e.g. "NumPy 2.3.1 (OpenBLAS 0.3.29)".  Imports it."""

    def offer(
        self, operation: Operation, buffers: Sequence[Buffer], processor: Processor, device: int
    ) -> Call:
        """The call for `operation` on such buffers.  Raises NotOffered."""


def over_axes(
    array: Any, operand: Operand, axes: Sequence[int], permute: Callable[..., Any]
) -> Any:
    """A view of a buffer with these axes as its dimensions; size 1 where it has no such axis.

    `permute` reorders dimensions without copying (NumPy's transpose).
    """
    kept = tuple(0 if axis == UNIT else slice(None) for axis in operand.axes)
    own = [axis for axis in operand.axes if axis != UNIT]
    there = [axis for axis in axes if axis in own]
    view = permute(array[kept], tuple(own.index(axis) for axis in there))
    return view[tuple(slice(None) if axis in own else None for axis in axes)]


def matmul_axes(operation: Operation) -> tuple[list[int], list[int], list[int]]:
    """The axes of left operand, right operand and result of a matmul, the matrix axes last.

    An axis that an operand (or the result) lacks is to be there with size 1.
    """
    left, right = (set(each.axes) - {UNIT} for each in operation.operands)
    out = [axis for axis in operation.output.axes if axis != UNIT]
    (summed,) = operation.over
    rows = [axis for axis in out if axis not in right]
    columns = [axis for axis in out if axis not in left]
    row, column = (each[-1] if each else _MISSING for each in (rows, columns))
    batch = [axis for axis in out if axis not in (row, column)]
    return [*batch, row, summed], [*batch, summed, column], [*batch, row, column]


_MISSING = -2
"""An axis that nobody has."""


def cpu_seconds(run: Callable[[], object]) -> Callable[[int, bool], float]:
    """The timer of calls that are done when they return."""
    trash: list[Array] = []

    def seconds(calls: int, flush: bool) -> float:
        run()
        if not flush:
            start = time.perf_counter()
            for _ in range(calls):
                run()
            return (time.perf_counter() - start) / calls
        if not trash:
            trash.extend(np.ones(FLUSH_BYTES, np.uint8) for _ in range(2))
        total = 0.0
        for _ in range(calls):
            trash[0][...] = trash[1]
            start = time.perf_counter()
            run()
            total += time.perf_counter() - start
        return total / calls

    return seconds
