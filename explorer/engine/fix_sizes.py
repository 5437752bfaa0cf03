"""A module with its symbolic sizes written as numbers: tiles are sampled as divisors of those."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, tirx

from explorer.engine.extract import size_variables
from explorer.engine.inputs import Shapes
from explorer.engine.load import module
from explorer.engine.setting import variables
from explorer.errors import SizeError
from explorer.model import options
from explorer.model.loaded import Source


def fix_sizes(source: Source, sizes: dict[str, int]) -> Source:
    """The PrimFuncs of `source` as TVMScript, with `sizes` (by symbol) in place of the symbols.

    Parameters that are such a size are gone.  Raises LoadError, and SizeError for one that has no
    value.
    """
    mod = module(source)
    fixed = {
        var: _fixed(func, sizes)
        for var, func in mod.functions_items()
        if isinstance(func, tirx.PrimFunc)
    }
    return Source(ir.IRModule(fixed).script())


def _fixed(func: tirx.PrimFunc, sizes: dict[str, int]) -> tirx.PrimFunc:
    symbols = size_variables(func)
    missing = [str(symbol.name) for symbol in symbols if str(symbol.name) not in sizes]
    if missing:
        raise SizeError(
            f"{', '.join(missing)} has no value." if len(missing) == 1
            else f"{', '.join(missing)} have no values.",
            do=f"{options.sizes(missing)}.",
        )  # fmt: skip
    if not symbols:
        return func
    shapes = Shapes(symbols, sizes)
    buffers: dict[Any, Any] = {}

    def put(var: Any) -> Any:
        if tirx.is_buffer_var(var):
            if var not in buffers:
                buffers[var] = _numbered(var, shapes)
            return buffers[var]
        if any(var.same_as(symbol) for symbol in symbols):
            return tirx.IntImm(str(var.ty), sizes[str(var.name)])
        return var

    # A parameter that is a size becomes a number, which is no parameter.
    params = [var for var in map(put, func.params) if isinstance(var, ir.Var)]
    body = tvm_ffi.structural_map(func.body, (ir.Var, put))
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs)


def _numbered(buffer: Any, shapes: Shapes) -> Any:
    """The buffer itself where nothing in it is symbolic, else one with numbers."""
    offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
    if not any(variables(value) for value in (*buffer.shape, *buffer.strides, *offset)):
        return buffer
    return tirx.decl_buffer(
        shapes.shape(buffer), str(buffer.dtype), str(buffer.name),
        strides=shapes.strides(buffer) if len(buffer.strides) else None,
        elem_offset=shapes.number(*offset) if offset else None, scope=buffer.scope(),
        data_alignment=buffer.data_alignment, offset_factor=buffer.offset_factor,
    )  # fmt: skip
