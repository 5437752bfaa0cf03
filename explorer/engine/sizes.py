"""Values for symbolic sizes: the user's, then small ones that tiles don't divide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tvm import tirx

from explorer.errors import SizeError

if TYPE_CHECKING:
    from explorer.engine.setting import Subject

_ODD = (37, 53, 67, 41, 59, 43)
_PAST_A_TILE = (129, 65, 33, 131, 67, 35)
_SMALL = (3, 5, 2, 7)
"""For a symbol that a static extent bounds: larger values would leave that buffer."""


def number(symbol: Any, value: int) -> tirx.IntImm:
    """A symbol's value as a number of its type.  Raises SizeError when the type has no such one."""
    dtype = str(symbol.ty)
    bits = int("".join(filter(str.isdigit, dtype)))
    signed = not dtype.startswith("u")
    high = 2 ** (bits - signed) - 1
    low = -high - 1 if signed else 0
    if not low <= value <= high:
        raise SizeError(
            f"{symbol.name} can't be {value}.", f"It is {dtype}: {low} to {high}.",
            "Take another size.",
        )  # fmt: skip
    return tirx.IntImm(dtype, value)


def size_sets(setting: Subject, given: dict[str, int]) -> Iterator[tuple[dict[str, int], bool]]:
    """Sizes to run, and whether a verdict depends on that run being possible.

    The user's sizes come first and count always; sizes of our choice widen the verdict where the
    function takes them.
    """
    names = [str(symbol.name) for symbol in setting.symbols]
    strides = stride_symbols(setting)
    first = {
        name: given.get(name, _ODD[at % len(_ODD)])
        for at, name in enumerate(names)
        if name not in strides
    }
    first = _with_strides(setting, first, given)
    free = [name for name in names if name not in strides]
    yield first, all(name in given for name in free)
    if not free:
        return
    for values in ((1,) * len(free), _SMALL, _ODD, _PAST_A_TILE, (0,) * len(free)):
        other = {name: values[at % len(values)] for at, name in enumerate(free)}
        other = _with_strides(setting, other, {})
        if other != first:
            yield other, False


def stride_symbols(setting: Subject) -> set[str]:
    """Names that occur in strides and in no shape."""
    from explorer.engine.setting import variables

    buffers = [param.var for param in setting.params]
    in_shapes = {str(v.name) for each in buffers for size in each.shape for v in variables(size)}
    in_strides = {str(v.name) for each in buffers for step in each.strides for v in variables(step)}
    return in_strides - in_shapes


def _with_strides(setting: Subject, sizes: dict[str, int], given: dict[str, int]) -> dict[str, int]:
    """With strides as given, or those of a compact buffer."""
    from explorer.engine.inputs import Shapes

    wanted = stride_symbols(setting)
    if not wanted:
        return sizes
    known = {**sizes, **dict.fromkeys(wanted, 1)}
    shapes = Shapes(setting.symbols, known)
    for param in setting.params:
        compact = 1
        dims = list(zip(shapes.shape(param.var), param.var.strides, strict=False))
        for extent, step in reversed(dims):
            name = str(getattr(step, "name", ""))
            if name in wanted:
                sizes = {**sizes, name: given.get(name, compact)}
            compact *= extent
    return {**dict.fromkeys(wanted, 1), **sizes}
