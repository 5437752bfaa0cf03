"""What a whole function computes, where that is one operation that libraries have, too."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["matmul", "elementwise", "reduce", "softmax"]
UNIT = -1
"""The axis of a dimension of size 1 that no iterator runs over."""


class Operand(msgspec.Struct, frozen=True):
    """A buffer parameter (its position among the buffers) and the axis that each dimension is."""

    param: int
    axes: tuple[int, ...]
    dtype: str


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation over numbered axes: those of the result in order, then those it sums over.

    `name` is "matmul", "softmax", "copy", a reduction ("sum", "max", "min") or an elementwise
    operation ("add", "exp" …).  `over` are the axes that a reduction or softmax runs along.
    Numbers among the inputs are constants.
    """

    kind: Kind
    name: str
    output: Operand
    inputs: tuple[Operand | float, ...]
    over: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The inputs that are buffers."""
        return tuple(each for each in self.inputs if isinstance(each, Operand))
