"""Two results, element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from explorer.engine.tolerance import EPSILON, Numerics


@dataclass(frozen=True)
class Difference:
    """How many of `total` elements differ beyond the tolerance, and the first of them."""

    count: int
    total: int
    first: tuple[int, ...] = ()
    got: float = 0.0
    expected: float = 0.0
    largest: float = 0.0
    """Largest absolute difference of all elements that are numbers."""
    unwritten: bool = False
    undefined: bool = False
    """What is expected is what lay in memory before: the reference writes or reads nothing else."""

    def sentence(self) -> str:
        """Both values in words."""
        if self.unwritten:
            return f"never written, expected {self.expected:.6g}"
        if self.undefined:
            return f"got {self.got:.6g}, and the unscheduled function leaves it undefined"
        return f"got {self.got:.6g}, expected {self.expected:.6g}"


def difference(
    got: np.ndarray,
    expected: np.ndarray,
    dtype: str,
    numerics: Numerics,
    *,
    whole: bool,
    slack: np.ndarray | float = 0.0,
    poison: int | None = None,
) -> Difference:
    """Compare; NaN equals NaN, infinities equal themselves, equal bits are equal.

    `slack` is allowed on top of what rounding explains, for each element; an integer with slack
    was decided by a rounding error and may be anything.
    With `whole` results are whole numbers, so that a difference below one half is none.
    `poison` is the byte that memory was filled with before.
    """
    found = _difference(got, expected, dtype, numerics, whole=whole, slack=slack)
    if not found.count or poison is None or not _tells(got.dtype, poison):
        return found
    return replace(
        found, unwritten=_left(got[found.first], poison),
        undefined=_left(expected[found.first], poison),
    )  # fmt: skip


def _tells(dtype: np.dtype, poison: int) -> bool:
    """Poison can't be mistaken for a value: all bits set are -1 in whole numbers."""
    return dtype.itemsize > 1 and (poison != 0xFF or dtype.kind not in "iub")


def _left(value: np.generic, poison: int) -> bool:
    return set(value.tobytes()) == {poison}


def _difference(
    got: np.ndarray, expected: np.ndarray, dtype: str, numerics: Numerics, *, whole: bool,
    slack: np.ndarray | float,
) -> Difference:  # fmt: skip
    total = int(got.size)
    if not total:
        return Difference(0, 0)
    same = bits(got) == bits(expected)
    if same.all():
        return Difference(0, total)
    if dtype not in EPSILON:
        return _integers(got, expected, same, numerics, slack)
    a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b)
        allowed = numerics.allowed(b, dtype) + slack
        if whole and float(np.max(np.abs(np.where(np.isfinite(b), b, 0)))) < 0.5 / EPSILON[dtype]:
            allowed = np.minimum(allowed, 0.49)
        good = same | (np.isnan(a) & np.isnan(b)) | (a == b)
        good |= np.isfinite(a) & np.isfinite(b) & (apart <= allowed)
    finite = np.isfinite(apart)
    largest = float(apart[finite].max()) if finite.any() else 0.0
    return _found(~good, a, b, largest)


def _integers(
    got: np.ndarray,
    expected: np.ndarray,
    same: np.ndarray,
    numerics: Numerics,
    slack: np.ndarray | float,
) -> Difference:
    a, b = got.astype(np.float64), expected.astype(np.float64)
    apart = np.abs(a - b)
    wrong = ~same & (np.asarray(slack) == 0)
    # A rounded result next to a step may fall to its other side; that is one, and rare.
    if numerics.casts_to_int and apart.max() <= 1 and wrong.mean() <= 0.005:
        wrong = np.zeros_like(wrong)
    return _found(wrong, a, b, float(apart.max()))


def _found(wrong: np.ndarray, got: np.ndarray, expected: np.ndarray, largest: float) -> Difference:
    count = int(wrong.sum())
    if not count:
        return Difference(0, int(wrong.size), largest=largest)
    first = int(np.argmax(wrong))
    at = tuple(int(i) for i in np.unravel_index(first, wrong.shape))
    return Difference(
        count, int(wrong.size), at, float(got.flat[first]), float(expected.flat[first]), largest
    )


def bits(values: np.ndarray) -> np.ndarray:
    """The values as unsigned integers of their size: equal only where all bits are."""
    width = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[values.itemsize]
    return np.ascontiguousarray(values).view(width)
