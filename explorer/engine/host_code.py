"""The host side of a lowered function: kernels it launches, and work that it does itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.sym import Analyzer

from explorer.engine.sizes import number

DYNAMIC_SHARED = "tirx.use_dyn_shared_memory"
_INT = re.compile(r"\bT\.u?int\d+\((-?\d+)\)")


@dataclass
class Launch:
    """One launch: extents by thread axis, dynamic shared bytes, and the host loops around it.

    Expressions are TVM's, with the host's own `let`s resolved; sizes of the function stay symbols.
    """

    kernel: str
    extents: dict[str, Any]
    dynamic_shared: Any | None
    loops: tuple[tuple[str, Any], ...]
    arguments: tuple[Any, ...] = ()
    """What the kernel's parameters get: pointers, and sizes as expressions."""


@dataclass
class HostCode:
    """What the host does: launches in order, and the global buffers it reads or writes itself."""

    launches: list[Launch] = field(default_factory=list)
    touched: dict[str, None] = field(default_factory=dict)
    """Buffers in (GPU) global memory that host code stores to or loads from."""
    lets: Analyzer = field(default_factory=Analyzer)


def read_host(functions: list[Any]) -> HostCode:
    """The launches and the host's own work in host functions after SplitHostDevice."""
    code = HostCode()
    for func in functions:
        _walk(func.body, (), code)
    return code


def _walk(stmt: Any, loops: tuple[tuple[str, Any], ...], code: HostCode) -> None:
    if isinstance(stmt, tirx.For):
        _note_touched(stmt.extent, code)
        extent = code.lets.simplify(stmt.extent)
        _walk(stmt.body, (*loops, (str(stmt.loop_var.name), extent)), code)
    elif isinstance(stmt, tirx.While):
        _note_touched(stmt.condition, code)
        _walk(stmt.body, (*loops, ("while", None)), code)
    elif isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            _walk(part, loops, code)
    elif isinstance(stmt, tirx.IfThenElse):
        _note_touched(stmt.condition, code)
        _walk(stmt.then_case, loops, code)
        if stmt.else_case is not None:
            _walk(stmt.else_case, loops, code)
    elif isinstance(stmt, tirx.Evaluate) and _is_launch(stmt.value):
        code.launches.append(_launch(stmt.value, loops, code))
    else:
        if isinstance(stmt, tirx.Bind) and str(stmt.var.ty).startswith(("int", "uint")):
            code.lets.bind(stmt.var, code.lets.simplify(stmt.value))
        below = getattr(stmt, "body", None)
        if isinstance(below, tirx.Stmt):
            _walk(below, loops, code)
        else:
            _note_touched(stmt, code)


def _is_launch(value: Any) -> bool:
    return isinstance(value, ir.Call) and getattr(value.op, "name", "") == "tirx.call_ffi_kernel"


def _launch(call: Any, loops: tuple[tuple[str, Any], ...], code: HostCode) -> Launch:
    names = [str(name) for name in call.attrs.launch_params]
    values = call.args[len(call.args) - len(names) :]
    extents = {name: code.lets.simplify(value) for name, value in zip(names, values, strict=True)}
    dynamic = extents.pop(DYNAMIC_SHARED, None)
    arguments = tuple(
        code.lets.simplify(value) if str(value.ty).startswith(("int", "uint")) else value
        for value in call.args[1 : len(call.args) - len(names)]
    )
    return Launch(str(call.args[0].value), extents, dynamic, loops, arguments)


def _note_touched(node: Any, code: HostCode) -> None:
    """Loads and stores of global buffers; a host variable of local scope is the host's own."""

    def visit(access: Any) -> None:
        buffer = access.buffer if isinstance(access, tirx.BufferStore) else access.source
        if buffer.scope() == "global":
            code.touched[str(buffer.name)] = None

    tvm_ffi.structural_walk(node, ((ir.TensorLoad, tirx.BufferStore), visit))


class Sizes:
    """Expressions as numbers or text, with the values given to symbolic sizes."""

    def __init__(self, sizes: dict[str, int], names: dict[str, Any]) -> None:
        """`names` are the function's symbols by name, as TVM's variables."""
        self._analyzer = Analyzer()
        for name, value in sizes.items():
            if name in names:
                var = names[name]
                self._analyzer.bind(var, number(var, value))

    def number(self, value: Any) -> int | None:
        """The value as an integer, or None while a size is open."""
        known = value if isinstance(value, int) else self._analyzer.simplify(value)
        if isinstance(known, int):
            return known
        return int(known) if isinstance(known, tirx.IntImm) else None

    def text(self, value: Any) -> str:
        """The value as a number where all sizes are known, else as an expression."""
        number = self.number(value)
        return str(number) if number is not None else plain(self._analyzer.simplify(value))


def plain(value: Any) -> str:
    """An expression as text, its integers without their types."""
    return _INT.sub(r"\1", str(value))
