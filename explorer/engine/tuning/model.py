"""The cost model: gradient-boosted trees that guess how fast a candidate is from its features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xgboost

from explorer.engine.tuning.orders import Made
from explorer.tuning.events import Design

Matrix = npt.NDArray[np.float32]

WORST = 1.0
"""A candidate that failed counts as this much slower (in log) than the slowest that ran."""
_SETTINGS = {
    "objective": "reg:squarederror", "tree_method": "exact", "max_depth": 4, "eta": 0.2,
    "min_child_weight": 0, "subsample": 0.9, "colsample_bytree": 0.5, "nthread": 1,
    "verbosity": 0,
}  # fmt: skip
_TREES = 40


class CostModel:
    """Trees trained on all results so far.  The same results in the same order, the same trees."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._trees: xgboost.Booster | None = None

    @property
    def trained(self) -> bool:
        """It has seen enough to say anything."""
        return self._trees is not None

    def train(self, rows: Sequence[Sequence[float]], us: Sequence[float | None]) -> None:
        """Learn from candidates: their features and times (None: it failed)."""
        times = [np.log(value) for value in us if value is not None]
        if not times:
            return
        failed = max(times) + WORST
        goal = [min(times) - (failed if value is None else np.log(value)) for value in us]
        data = xgboost.DMatrix(_matrix(rows), np.asarray(goal, np.float32), nthread=1)
        settings = {**_SETTINGS, "seed": self._seed}
        self._trees = xgboost.train(settings, data, _TREES)

    def scores(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """How good candidates may be: the logarithm of the best time over theirs."""
        assert self._trees is not None
        data = xgboost.DMatrix(_matrix(rows), nthread=1)
        return [float(value) for value in self._trees.predict(data)]


class Rows:
    """Candidates as rows of numbers: its design and decisions, then features of the program.

    Decisions say more where tiles matter most, features where blocks move or several loop nests
    count: with 24 to 96 measured samples of a matmul the rank correlation was 0.50 to 0.59 with
    features alone, 0.55 to 0.66 with decisions alone and 0.51 to 0.65 with both; with 14 of a
    softmax 0.34, 0 and 0.31.

    A decision of the same meaning has the same columns in all designs: the logarithm of each
    factor of a tile and of the products of the inner ones, the number of a choice.
    """

    def __init__(self, designs: Sequence[Design]) -> None:
        parts: dict[str, int] = {}
        for design in designs:
            for decision in design.decisions:
                parts[decision.what] = max(parts.get(decision.what, 1), decision.parts)
        self._column: dict[str, int] = {}
        self._width = 1
        for what, count in parts.items():
            self._column[what] = self._width
            self._width += 2 * count
        self._what = {
            (design.number, decision.at): decision.what
            for design in designs for decision in design.decisions
        }  # fmt: skip

    def row(self, made: Made) -> list[float]:
        """A candidate's row; missing values are NaN."""
        row = [float("nan")] * self._width
        row[0] = made.gene.design
        for at, value in made.gene.decisions:
            start = self._column.get(self._what.get((made.gene.design, at), ""))
            if start is None:
                continue
            if isinstance(value, int):
                row[start] = value
                continue
            inner = 1
            for n, factor in enumerate(reversed(value)):
                inner *= max(factor, 1)
                row[start + 2 * n] = float(np.log2(max(factor, 1)))
                row[start + 2 * n + 1] = float(np.log2(inner))
        return row + made.features


def _matrix(rows: Sequence[Sequence[float]]) -> Matrix:
    """Rows of equal length; features of a program that has none are missing."""
    width = max(map(len, rows))
    return np.asarray([[*row, *[np.nan] * (width - len(row))] for row in rows], np.float32)
