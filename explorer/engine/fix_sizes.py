"""A module with its symbolic sizes written as numbers: tiles are sampled as divisors of those."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.ir.prim import expr as prim
from tvm.sym import Analyzer

from explorer.engine.extract import size_variables
from explorer.engine.load import module
from explorer.engine.setting import variables
from explorer.engine.sizes import number
from explorer.errors import LoadError, SizeError
from explorer.model import options
from explorer.model.loaded import Source

_FOLDED = (
    prim.Add, prim.Sub, prim.Mul, prim.FloorDiv, prim.FloorMod, prim.Div, prim.Mod, prim.Min,
    prim.Max, prim.Cast,
)  # fmt: skip


def fix_sizes(source: Source, sizes: dict[str, int]) -> Source:
    """The PrimFuncs of `source` as TVMScript, with `sizes` (by symbol) in place of the symbols.

    Parameters that are such a size are gone.  Raises LoadError, and SizeError for a size that has
    no value or an impossible one.
    """
    mod = module(source)
    fixed = {
        var: _Numbers(func, sizes).function()
        for var, func in mod.functions_items()
        if isinstance(func, tirx.PrimFunc)
    }
    made = Source(ir.IRModule(fixed).script())
    try:
        module(made)
    except LoadError as error:  # such as indices of a buffer that has one element by now
        raise SizeError(
            "The module can't be written with these sizes.",
            "TVM prints it in a form that it does not read back.",
            "Take other sizes.",
            details=f"{error}\n\n{made.text}",
        ) from error
    return made


class _Numbers:
    """Puts the sizes into one function."""

    def __init__(self, func: tirx.PrimFunc, sizes: dict[str, int]) -> None:
        self.func = func
        self.symbols = size_variables(func)
        self.buffers: dict[Any, Any] = {}
        missing = [str(symbol.name) for symbol in self.symbols if str(symbol.name) not in sizes]
        if missing:
            raise SizeError(
                f"{', '.join(missing)} has no value." if len(missing) == 1
                else f"{', '.join(missing)} have no values.",
                do=f"{options.sizes(missing)}.",
            )  # fmt: skip
        self.numbers = [
            (symbol, number(symbol, sizes[str(symbol.name)])) for symbol in self.symbols
        ]
        self.negative: list[str] = []

    def function(self) -> tirx.PrimFunc:
        """The function with numbers.  Raises SizeError."""
        if not self.symbols:
            return self.func
        # A parameter that is a size becomes a number, which is no parameter.
        params = [var for var in map(self._put, self.func.params) if isinstance(var, ir.Var)]
        body = self._within(self.func.body)
        if self.negative:  # not raised where it is seen: no error comes unchanged through TVM
            raise SizeError(
                f"{self.negative[0]} would have a negative extent.",
                "These sizes are negative or too small, or too large for their type.",
                "Take others.",
            )  # fmt: skip
        return tirx.PrimFunc(params, body, self.func.ret_type, self.func.attrs)

    def _within(self, value: Any) -> Any:
        """Numbers in place of the symbols, and of what follows from them."""
        return tvm_ffi.structural_map(value, [(ir.Var, self._put), (_FOLDED, _folded)])

    def _put(self, var: Any) -> Any:
        if tirx.is_buffer_var(var):
            if var not in self.buffers:
                self.buffers[var] = self._buffer(var)
            return self.buffers[var]
        return next((value for symbol, value in self.numbers if var.same_as(symbol)), var)

    def _buffer(self, buffer: Any) -> Any:
        """The buffer itself where it has none of the sizes, else one with numbers."""
        shape = [self._within(extent) for extent in buffer.shape]
        if any(isinstance(extent, tirx.IntImm) and int(extent) < 0 for extent in shape):
            self.negative.append(str(buffer.name))
        offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
        used = [var for v in (*buffer.shape, *buffer.strides, *offset) for var in variables(v)]
        if not any(var.same_as(symbol) for var in used for symbol in self.symbols):
            return buffer
        return tirx.decl_buffer(
            shape, str(buffer.dtype), str(buffer.name),
            strides=[self._within(step) for step in buffer.strides] or None,
            elem_offset=self._within(*offset) if offset else None, scope=buffer.scope(),
            data_alignment=buffer.data_alignment, offset_factor=buffer.offset_factor,
        )  # fmt: skip


def _folded(value: Any) -> Any:
    """A number for an operation on numbers."""
    operands = (value.value,) if isinstance(value, prim.Cast) else (value.a, value.b)
    if not all(isinstance(each, tirx.IntImm) for each in operands):
        return value
    found = Analyzer().simplify(value)
    return found if isinstance(found, tirx.IntImm) else value
