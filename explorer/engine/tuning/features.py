"""TVM's features of a program, one row a store, folded into one vector of fixed length."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MOST = 60
"""The logarithm of the largest number that is told from larger ones."""


def folded(rows: npt.NDArray[np.float64]) -> list[float]:
    """Each feature summed over the stores, on TVM's logarithmic scale; [] without a store."""
    if not len(rows):
        return []
    total = np.log2(np.sum(np.exp2(np.clip(rows, 0, _MOST)) - 1, axis=0) + 1)
    return [round(float(value), 3) for value in total]
