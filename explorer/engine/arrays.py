"""Memory contents for one set of sizes: inputs, poison, and the views TVM gets of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import tirx

from explorer.engine.inputs import DTYPES, Param, Shapes, make
from explorer.engine.setting import Plan, Subject


class Arrays:
    """Buffers of one instance as flat arrays, in the order of the function's parameters."""

    def __init__(self, setting: Subject, sizes: dict[str, int], whole_top: int) -> None:
        """`whole_top` bounds whole inputs."""
        self.setting = setting
        self.sizes = sizes
        self.shapes = Shapes(setting.symbols, sizes)
        self.whole_top = whole_top

    def start(self, plan: Plan, shrink: int) -> list[np.ndarray]:
        """Contents before a run: inputs, and poison where results go.

        Each `shrink` halves the range of indices, for references that leave a buffer.
        """
        rng = np.random.default_rng(plan.seed)
        found = []
        for param in self.setting.params:
            count, kind = self.span(param), DTYPES[param.dtype]
            if param.role == "out":
                raw = np.full(count * np.dtype(kind).itemsize, plan.poison, np.uint8)
                found.append(raw.view(kind))
                continue
            extents = [max(size >> shrink, 1) for size in self._numbers(param.index_of)]
            found.append(make(param, (count,), extents, rng, plan.style, self.whole_top))
        return found

    def scalars(self, plan: Plan) -> list[Any]:
        """Values of the plain number parameters."""
        rng = np.random.default_rng(plan.seed + 100)
        values: list[Any] = []
        for var in self.setting.scalars:
            if str(var.name) in self.sizes:
                values.append(self.sizes[str(var.name)])
            elif "float" in str(var.ty):
                values.append(float(np.float32(rng.uniform(0.5, 2.0))))
            else:
                values.append(int(rng.integers(1, 4)))
        return values

    def symbols(self) -> list[int]:
        """Values of the symbolic sizes, in the evaluator's order."""
        return [self.sizes[str(symbol.name)] for symbol in self.setting.symbols]

    def arguments(self, buffers: list[Any], plan: Plan) -> list[Any]:
        """Buffers and numbers in the order of the function's parameters."""
        each, numbers = iter(buffers), iter(self.scalars(plan))
        return [
            next(each) if tirx.is_buffer_var(var) else next(numbers)
            for var in self.setting.func.params
        ]

    def span(self, param: Param) -> int:
        """Elements from a buffer's first to its last, with its strides."""
        shape, strides = self.shapes.shape(param.var), self.shapes.strides(param.var)
        if 0 in shape:
            return 0
        return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))

    def view(self, param: Param, flat: np.ndarray) -> np.ndarray:
        """A flat array in the buffer's shape and strides."""
        shape, strides = self.shapes.shape(param.var), self.shapes.strides(param.var)
        steps = tuple(step * flat.itemsize for step in strides)
        # Not as_strided: NumPy can't read back the name it gives float8_e5m2 ("<f1").
        return np.ndarray(shape, flat.dtype, flat.view(np.uint8), strides=steps)

    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return sum(self.span(p) * np.dtype(DTYPES[p.dtype]).itemsize for p in self.setting.params)

    def _numbers(self, values: list[Any]) -> list[int]:
        found = []
        for value in values:
            try:
                found.append(self.shapes.number(value))
            except ValueError:  # an extent that depends on the data bounds nothing
                continue
        return found
