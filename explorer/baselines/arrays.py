"""Operations through the functions that NumPy and CuPy have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from explorer.baselines.base import Array, Call, NotOffered, matmul_axes, over_axes
from explorer.model.operation import UNIT, Operand, Operation

Seconds = Callable[[Callable[[], object]], Callable[[int, bool], float]]
_TYPES = ("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
          "uint16", "uint32", "uint64")  # fmt: skip


def numpy_type(library: str, dtype: str) -> np.dtype[Any]:
    """NumPy's type of that name.  Raises NotOffered when `library` has none of its own."""
    if dtype not in _TYPES:
        raise NotOffered(f"{library} has no {dtype}.")
    return np.dtype(dtype)


def offer(
    library: Any, name: str, operation: Operation, arrays: Sequence[Any], seconds: Seconds,
    get: Callable[[Any], Array],
) -> Call:  # fmt: skip
    """The call of `library` (a module like NumPy, called `name`) on its own `arrays`.

    `seconds` makes the timer of a call, `get` brings an array to NumPy.  Raises NotOffered.
    """
    run, what = _call(library, operation, arrays)

    def fill(contents: Sequence[Array]) -> None:
        for array, values in zip(arrays, contents, strict=True):
            array[...] = library.asarray(values)

    return Call(
        what=f"{name}.{what}", fill=fill, run=run, seconds=seconds(run),
        result=lambda: get(arrays[operation.output.param]),
    )  # fmt: skip


def _call(
    library: Any, operation: Operation, arrays: Sequence[Any]
) -> tuple[Callable[[], object], str]:
    """The call without arguments, and the name of the function."""
    axes = [axis for axis in operation.output.axes if axis != UNIT]
    if operation.kind == "matmul":
        left, right, result = matmul_axes(operation)
        a, b = operation.operands
        x, y = _view(library, arrays, a, left), _view(library, arrays, b, right)
        out = _view(library, arrays, operation.output, result)
        return lambda: library.matmul(x, y, out=out), "matmul"
    if operation.kind == "reduce":
        (operand,) = operation.operands
        inside = [*axes, *operation.over]
        x = _view(library, arrays, operand, inside)
        out = _view(library, arrays, operation.output, axes)
        over = tuple(range(len(axes), len(inside)))
        function = getattr(library, operation.name)
        more = {"dtype": x.dtype} if operation.name == "sum" else {}
        return lambda: function(x, axis=over, out=out, **more), operation.name
    if operation.kind == "elementwise":
        out = _view(library, arrays, operation.output, axes)
        inputs = [
            _view(library, arrays, each, axes)
            if isinstance(each, Operand)
            else out.dtype.type(each)
            for each in operation.inputs
        ]
        if operation.name == "copy":
            return lambda: library.copyto(out, inputs[0]), "copyto"
        function = getattr(library, operation.name)
        return lambda: function(*inputs, out=out), operation.name
    raise NotOffered(f"{library.__name__} has no {operation.name}.")


def _view(library: Any, arrays: Sequence[Any], operand: Operand, axes: Sequence[int]) -> Any:
    return over_axes(arrays[operand.param], operand, axes, library.transpose)
