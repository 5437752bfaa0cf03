"""How far a kernel's result may be from the reference, from the types and the reduction length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.ir.prim import expr as prim

EPSILON = {
    "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2,
}  # fmt: skip
_MANTISSA = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
_EXACT_CALLS = {"if_then_else", "likely", "fabs", "floor", "ceil", "trunc", "infinity"}


@dataclass(frozen=True)
class Numerics:
    """What decides how results round.

    `coarsest` is the arithmetic type with the fewest digits ("" for integer work), `reduction` the
    length of the longest reduction; `whole` tells that whole inputs give whole results exactly.
    """

    coarsest: str
    reduction: int
    whole: bool
    casts_to_int: bool

    def whole_top(self) -> int:
        """The largest whole input whose sums of products stay exact, or 0."""
        if not self.whole or not self.coarsest:
            return 0
        room = 2 ** _MANTISSA.get(self.coarsest, 0)
        for top in (4, 2, 1):
            if top * top * self.reduction <= room:
                return top
        return 0

    def sentence(self, dtype: str) -> str:
        """The tolerance in words."""
        if dtype not in EPSILON:
            return "exact"
        return (
            f"{dtype} within 2 ulp plus {self.factor():.0f} ulp of {self.coarsest or dtype} for a "
            f"reduction of {self.reduction}"
        )

    def allowed(self, reference: np.ndarray, dtype: str) -> np.ndarray:
        """The largest difference allowed for each element."""
        size = np.abs(np.where(np.isfinite(reference), reference, 0.0))
        mean = float(size.mean()) if size.size else 0.0
        acc = EPSILON.get(self.coarsest, EPSILON[dtype])
        return 2 * EPSILON[dtype] * size + acc * self.factor() * (size + mean) + 1e-30

    def factor(self) -> float:
        """Rounding errors a result may have gathered."""
        return 16 + 2 * math.sqrt(self.reduction)


def numerics(func: tirx.PrimFunc, number: Any) -> Numerics:
    """Read a function; `number` turns extents into integers."""
    coarsest = ""
    whole, casts = True, False

    def arithmetic(node: Any) -> None:
        nonlocal coarsest
        dtype = str(node.ty)
        if dtype in EPSILON and EPSILON[dtype] > EPSILON.get(coarsest, 0.0):
            coarsest = dtype

    def constant(node: Any) -> None:
        nonlocal whole
        value = float(node.value)
        if math.isfinite(value) and value != int(value):
            whole = False

    def divide(node: Any) -> None:
        nonlocal whole
        if str(node.ty) in EPSILON:
            whole = False
        arithmetic(node)

    def cast(node: Any) -> None:
        nonlocal casts
        if str(node.value.ty) in EPSILON and "int" in str(node.ty):
            casts = True

    def call(node: Any) -> None:
        nonlocal whole
        name = getattr(node.op, "name", "").rpartition(".")[2]
        if str(node.ty) in EPSILON and name not in _EXACT_CALLS:
            whole = False
            arithmetic(node)

    def compare(node: Any) -> None:
        nonlocal whole
        if str(node.a.ty) in EPSILON:
            whole = False

    tvm_ffi.structural_walk(
        func.body,
        [
            (prim.FloatImm, constant),
            ((prim.Add, prim.Sub, prim.Mul), arithmetic),
            ((prim.Div, prim.Mod, prim.FloorDiv, prim.FloorMod), divide),
            ((prim.LT, prim.LE, prim.GT, prim.GE, prim.EQ, prim.NE), compare),
            (prim.Cast, cast),
            (ir.Call, call),
        ],
    )
    return Numerics(coarsest, _reduction(func, number), whole, casts)


def _reduction(func: tirx.PrimFunc, number: Any) -> int:
    longest = 1

    def block(node: Any) -> None:
        nonlocal longest
        length = 1
        for iter_var in node.iter_vars:
            if iter_var.iter_type == iter_var.CommReduce:
                length *= max(number(iter_var.dom.extent), 1)
        longest = max(longest, length)

    tvm_ffi.structural_walk(func.body, (s_tir.SBlock, block))
    return longest
