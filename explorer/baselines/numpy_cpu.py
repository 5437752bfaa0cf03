"""NumPy: its BLAS for matrices, its own loops for the rest; on the processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer.baselines import arrays
from explorer.baselines.base import Buffer, Call, NotOffered, Processor, cpu_seconds
from explorer.model.operation import Operation

NAME = "numpy"
LABEL = "NumPy"
PACKAGE = "numpy"
PROCESSORS: tuple[Processor, ...] = ("cpu",)
_BLAS = ("float32", "float64")


def version(processor: Processor, device: int) -> str:
    """NumPy's version and its BLAS."""
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    name = str(blas["name"]).replace("scipy-openblas", "OpenBLAS")
    return f"NumPy {np.__version__} ({name} {blas['version']})"


def offer(
    operation: Operation, buffers: Sequence[Buffer], processor: Processor, device: int
) -> Call:
    """The call on the processor.  Raises NotOffered."""
    if operation.kind == "matmul":
        kinds = {each.dtype for each in (*operation.operands, operation.output)}
        if len(kinds) > 1 or not kinds <= set(_BLAS):
            raise NotOffered(
                f"NumPy's BLAS multiplies {' and '.join(_BLAS)} only, without another type for "
                "the sums."
            )
    own = [np.zeros(buffer.shape, arrays.numpy_type("NumPy", buffer.dtype)) for buffer in buffers]
    return arrays.offer(np, NAME, operation, own, cpu_seconds, lambda array: array)
