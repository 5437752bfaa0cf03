"""Inputs for a check: what each buffer is for, which integers are indices, and arrays to run on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import ml_dtypes
import numpy as np
import tvm_ffi
from tvm import ir, s_tir, tirx
from tvm.sym import Analyzer

from explorer.engine.sizes import number

DTYPES = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    **{name: np.dtype(name) for name in (
        "bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64")},
}  # fmt: skip
"""NumPy types of the TVM types that can be checked."""

Role = Literal["in", "out", "inout"]
Style = Literal["real", "positive", "whole"]
"""Reals in [-1, 1), reals in [0.1, 1), or small whole numbers whose sums are exact."""


@dataclass
class Param:
    """A buffer parameter.  `index_of` bounds its values when they are used as indices.

    `monotone` values never fall (row pointers); `distinct` ones never repeat (a scatter's targets).
    """

    var: Any
    name: str
    dtype: str
    role: Role
    index_of: list[Any] = field(default_factory=list)
    monotone: bool = False
    distinct: bool = False

    @property
    def is_index(self) -> bool:
        """Its values are used as indices or loop bounds."""
        return bool(self.index_of) or self.monotone


def params_of(func: tirx.PrimFunc) -> list[Param]:
    """The buffer parameters of a function, in order."""
    stored, loaded = _stored_and_loaded(func)
    found = {}
    for var in func.params:
        if tirx.is_buffer_var(var):
            name = str(var.name)
            role: Role = "in"
            if name in stored:
                role = "inout" if name in loaded else "out"
            found[name] = Param(var, name, str(var.dtype), role)
    _find_indices(func, found)
    return list(found.values())


def scalars_of(func: tirx.PrimFunc) -> list[Any]:
    """The parameters that are plain numbers, in order."""
    return [var for var in func.params if not tirx.is_buffer_var(var)]


def make(
    param: Param,
    shape: tuple[int, ...],
    extents: list[int],
    rng: np.random.Generator,
    style: Style,
    top: int,
) -> np.ndarray:
    """Values for an input.  `extents` bound an index; `top` bounds whole numbers."""
    kind = DTYPES[param.dtype]
    count = int(np.prod(shape, dtype=np.int64))
    if param.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if param.is_index and "int" in param.dtype:
        return _indices(param, shape, count, extents, rng).astype(kind)
    if "int" in param.dtype:
        return _integers(param.dtype, shape, rng)
    if style == "whole":
        values = rng.choice([v for v in range(-top, top + 1) if v], shape)
        return np.asarray(values, np.float32).astype(kind)
    low = 0.1 if style == "positive" else -1.0
    return rng.uniform(low, 1.0, shape).astype(np.float32).astype(kind)


def _indices(
    param: Param, shape: tuple[int, ...], count: int, extents: list[int], rng: np.random.Generator
) -> np.ndarray:
    high = max(min(extents, default=1), 1)
    if param.monotone:
        if not count:
            return np.zeros(shape, np.int64)
        values = np.sort(rng.integers(0, high + 1, count))
        values[0], values[-1] = 0, high
        return values.reshape(shape)
    if param.distinct and high >= count:
        return rng.permutation(high)[:count].reshape(shape)
    return rng.integers(0, high, shape)


def _integers(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Varied integers without zeros; packed bits (unsigned) over the whole range."""
    kind = np.dtype(dtype)
    if dtype.startswith("u") or kind.itemsize == 1:
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    else:
        values = rng.integers(-100, 101, shape).astype(kind)
    return np.where(values == 0, np.ones((), kind), values)


# Reading the function


def _stored_and_loaded(func: tirx.PrimFunc) -> tuple[set[str], set[str]]:
    """Names of buffers stored to, and of those loaded other than by a reduction's own update."""
    stored: set[str] = set()
    loaded: set[str] = set()

    def visit(node: Any, started: frozenset[str]) -> None:
        if isinstance(node, s_tir.SBlock) and node.init is not None:
            begun: set[str] = set()
            tvm_ffi.structural_walk(
                node.init, (tirx.BufferStore, lambda store: begun.add(str(store.buffer.name)))
            )
            stored.update(begun)
            started = started | begun
        if isinstance(node, tirx.BufferStore):
            stored.add(str(node.buffer.name))
        for child in children(node):
            visit(child, started)
        if not isinstance(node, tirx.Stmt) or isinstance(
            node, (tirx.BufferStore, tirx.Bind, tirx.Evaluate)
        ):
            tvm_ffi.structural_walk(node, (ir.TensorLoad, lambda load: note(load, started)))
        for name in ("condition", "extent", "min", "predicate"):
            part = getattr(node, name, None)
            if isinstance(part, ir.Expr):
                tvm_ffi.structural_walk(part, (ir.TensorLoad, lambda load: note(load, started)))

    def note(load: Any, started: frozenset[str]) -> None:
        if str(load.source.name) not in started:
            loaded.add(str(load.source.name))

    visit(func.body, frozenset())
    return stored, loaded


def children(node: Any) -> list[Any]:
    """The statements right below a statement, in source order."""
    if isinstance(node, tirx.SeqStmt):
        return list(node.seq)
    if isinstance(node, s_tir.SBlockRealize):
        return [node.block]
    found = []
    for name in ("init", "body", "then_case", "else_case"):
        child = getattr(node, name, None)
        if isinstance(child, tirx.Stmt):
            found.append(child)
    return found


def _find_indices(func: tirx.PrimFunc, params: dict[str, Param]) -> None:
    """Note which integer parameters reach an index or a loop bound, also through other buffers."""
    comes_from: dict[str, set[str]] = {
        name: {name} for name, param in params.items() if "int" in param.dtype
    }
    bound: dict[Any, Any] = {}

    def sources(expr: Any) -> set[str]:
        """Parameters whose values an expression carries."""
        found: set[str] = set()

        def load(node: Any) -> None:
            found.update(comes_from.get(str(node.source.name), ()))

        def var(node: Any) -> None:
            if node in bound:
                found.update(sources(bound[node]))

        tvm_ffi.structural_walk(expr, [(ir.TensorLoad, load), (ir.Var, var)])
        return found

    def bind(node: Any) -> None:
        bound[node.var] = node.value

    def realize(node: Any) -> None:
        for iter_var, value in zip(node.block.iter_vars, node.iter_values, strict=True):
            bound[iter_var.var] = value

    tvm_ffi.structural_walk(func.body, [(tirx.Bind, bind), (s_tir.SBlockRealize, realize)])

    def copy(store: Any) -> None:
        name = str(store.buffer.name)
        if "int" in str(store.buffer.dtype) and name not in params:
            comes_from.setdefault(name, set()).update(sources(store.value))

    for _ in range(2):
        tvm_ffi.structural_walk(func.body, (tirx.BufferStore, copy))

    def access(buffer: Any, indices: Any) -> None:
        for index, extent in zip(indices, buffer.shape, strict=False):
            for name in sources(index):
                params[name].index_of.append(extent)

    def load(node: Any) -> None:
        access(node.source, node.indices)

    def store(node: Any) -> None:
        access(node.buffer, node.indices)
        adds = [each for each in _loads(node.value) if each.source.same_as(node.buffer)]
        for index in node.indices:
            for name in sources(index):
                if not adds and not params[name].monotone:
                    params[name].distinct = True

    every_size = [size for param in params.values() for size in param.var.shape]

    def bounds(node: Any) -> None:
        for part in (node.extent, node.min):
            for name in sources(part):
                starts = isinstance(part, ir.TensorLoad) and part is node.min
                if starts or _differences(part, name, comes_from):
                    params[name].monotone = True
                elif not params[name].index_of:
                    params[name].index_of.extend(every_size)

    tvm_ffi.structural_walk(func.body, (tirx.For, bounds))
    tvm_ffi.structural_walk(func.body, [(ir.TensorLoad, load), (tirx.BufferStore, store)])


def _differences(expr: Any, name: str, comes_from: dict[str, set[str]]) -> bool:
    """The expression subtracts two values of one array, as `ptr[i + 1] - ptr[i]` does."""
    own = [load for load in _loads(expr) if name in comes_from.get(str(load.source.name), ())]
    return len(own) >= 2


def _loads(expr: Any) -> list[Any]:
    """All loads of an expression."""
    found: list[Any] = []
    tvm_ffi.structural_walk(expr, (ir.TensorLoad, found.append))
    return found


class Shapes:
    """Numbers for shapes, strides and extents once every symbolic size has a value."""

    def __init__(self, symbols: list[Any], values: dict[str, int]) -> None:
        self._analyzer = Analyzer()
        for symbol in symbols:
            self._analyzer.bind(symbol, number(symbol, values[str(symbol.name)]))

    def number(self, value: Any) -> int:
        """The value as an integer.  Raises ValueError when it is not one."""
        known = value if isinstance(value, int) else self._analyzer.simplify(value)
        if not isinstance(known, (int, tirx.IntImm)):
            raise ValueError(f"{value} has no value")
        return int(known)

    def shape(self, var: Any) -> tuple[int, ...]:
        """A buffer's shape."""
        return tuple(self.number(size) for size in var.shape)

    def strides(self, var: Any) -> tuple[int, ...]:
        """A buffer's strides in elements, as declared or compact."""
        if len(var.strides):
            return tuple(self.number(step) for step in var.strides)
        shape, steps = self.shape(var), []
        for at in range(len(shape)):
            steps.append(int(np.prod(shape[at + 1 :], dtype=np.int64)))
        return tuple(steps)
