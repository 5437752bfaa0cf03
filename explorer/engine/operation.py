"""Which library operation a function is, read off its blocks; certain or not at all.

Blocks are read in order into terms over axes: what an intermediate buffer holds is put in where it
is loaded, so that the output is one term over the parameters, whatever its steps were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import ml_dtypes
import numpy as np
from tvm import ir, tirx
from tvm.ir.prim import expr as prim

from explorer.engine.blocks import Leaf, leaves
from explorer.engine.inputs import DTYPES, Param
from explorer.engine.lanes import key, op_name
from explorer.model.operation import UNIT, Operand, Operation

Term = tuple[Any, ...]
"""("load", parameter, axes), ("num", value), ("cast", dtype, term), (operation, terms…), or
("reduce", operation, axes, term)."""

_BINARY = {
    prim.Add: "add", prim.Sub: "subtract", prim.Mul: "multiply", prim.Div: "divide",
    prim.Max: "maximum", prim.Min: "minimum",
}  # fmt: skip
_UNARY = {"exp": "exp", "sqrt": "sqrt", "tanh": "tanh", "log": "log", "fabs": "absolute"}
_REDUCE = {"add": "sum", "maximum": "max", "minimum": "min"}


class NoEquivalent(Exception):
    """No library function is certain to compute the same; the message says why, in lower case."""


@dataclass(frozen=True)
class _Value:
    """What a buffer holds: a term over the axes of its dimensions."""

    axes: tuple[int, ...]
    term: Term


def operation_of(
    func: tirx.PrimFunc, params: list[Param], number: Callable[[Any], int]
) -> Operation:
    """The operation that `func` as a whole is.  `number` turns sizes into numbers.

    Raises NoEquivalent.
    """
    return _Reader(func, params, number).operation()


class _Reader:
    def __init__(
        self, func: tirx.PrimFunc, params: list[Param], number: Callable[[Any], int]
    ) -> None:
        self.params, self.number = params, number
        self.positions = {key(param.var): at for at, param in enumerate(params)}
        self.leaves = leaves(func, "main")
        self.values: dict[int, _Value] = {}
        self.fresh = count()
        self.extents: dict[int, int] = {}

    def operation(self) -> Operation:
        outputs = [at for at, param in enumerate(self.params) if param.role != "in"]
        if len(outputs) != 1:
            raise NoEquivalent(f"it writes {len(outputs)} of its parameters")
        if self.params[outputs[0]].role == "inout":
            raise NoEquivalent("it updates a parameter in place")
        if any(param.is_index for param in self.params):
            raise NoEquivalent("values of a parameter are used as indices")
        seen: set[int] = set()
        for leaf in self.leaves:
            loops = {key(loop.loop_var) for loop in leaf.loops}
            if loops & seen:
                raise NoEquivalent("its blocks share loops")
            seen |= loops
            self._block(leaf)
        found = self.values.get(key(self.params[outputs[0]].var))
        if found is None:
            raise NoEquivalent("its output is written by no block")
        return self._named(outputs[0], found)

    # Blocks into terms

    def _block(self, leaf: Leaf) -> None:
        block, body = leaf.block, leaf.block.body
        name = leaf.ref.name
        if not isinstance(body, tirx.BufferStore):
            raise NoEquivalent(f"block {name} is more than one assignment")
        self._whole(leaf)
        axes: dict[int, int] = {}
        reduced: list[int] = []
        for item in block.iter_vars:
            axis = next(self.fresh)
            axes[key(item.var)] = axis
            self.extents[axis] = self.number(item.dom.extent)
            if int(item.iter_type) == 2:
                reduced.append(axis)
        target = key(body.buffer)
        if target in self.values:
            raise NoEquivalent(f"{body.buffer.name} is written more than once")
        own = self._axes(body.buffer, body.indices, axes)
        if sorted(a for a in own if a != UNIT) != sorted(set(axes.values()) - set(reduced)):
            raise NoEquivalent(f"block {name} does not write each element of its domain once")
        term = (
            self._reduction(leaf, axes, tuple(reduced)) if reduced
            else self._term(body.value, axes)
        )  # fmt: skip
        self.values[target] = _Value(own, term)

    def _whole(self, leaf: Leaf) -> None:
        """The block runs over its whole domain, once."""
        loops = {key(loop.loop_var): self.number(loop.extent) for loop in leaf.loops}
        pairs = zip(leaf.block.iter_vars, leaf.realize.iter_values, strict=True)
        used = []
        for item, value in pairs:
            extent = self.number(item.dom.extent)
            if extent == 1:
                continue
            if self.number(item.dom.min) or loops.get(key(value)) != extent:
                raise NoEquivalent(f"the loops of block {leaf.ref.name} are already transformed")
            used.append(key(value))
        rest = [extent for loop, extent in loops.items() if loop not in used]
        if len(set(used)) != len(used) or any(extent != 1 for extent in rest):
            raise NoEquivalent(f"the loops of block {leaf.ref.name} are already transformed")
        if not _is_true(leaf.realize.predicate):
            raise NoEquivalent(f"block {leaf.ref.name} leaves out a part of its domain")

    def _reduction(self, leaf: Leaf, axes: dict[int, int], reduced: tuple[int, ...]) -> Term:
        body, init = leaf.block.body, leaf.block.init
        name = _BINARY.get(type(body.value), "")
        if name not in _REDUCE or not isinstance(init, tirx.BufferStore):
            raise NoEquivalent(f"block {leaf.ref.name} is no sum, maximum or minimum")
        sides = (body.value.a, body.value.b)
        rest = [side for side in sides if not _same_element(side, body)]
        if len(rest) != 1:
            raise NoEquivalent(f"block {leaf.ref.name} is no sum, maximum or minimum")
        if not _starts(name, init.value):
            raise NoEquivalent(f"block {leaf.ref.name} starts from something of its own")
        return ("reduce", _REDUCE[name], reduced, self._term(rest[0], axes))

    def _term(self, node: Any, axes: dict[int, int]) -> Term:
        if isinstance(node, ir.TensorLoad):
            return self._load(node, axes)
        if isinstance(node, (prim.FloatImm, prim.IntImm)):
            return ("num", float(node.value))
        if isinstance(node, prim.Cast):
            return ("cast", str(node.ty), self._term(node.value, axes))
        name = _BINARY.get(type(node))
        if name:
            return (name, self._term(node.a, axes), self._term(node.b, axes))
        if isinstance(node, ir.Call) and op_name(node) in _UNARY:
            return (_UNARY[op_name(node)], self._term(node.args[0], axes))
        what = op_name(node) if isinstance(node, ir.Call) else type(node).__name__
        raise NoEquivalent(f"it computes with {what}")

    def _load(self, node: Any, axes: dict[int, int]) -> Term:
        at = self._axes(node.source, node.indices, axes)
        held = self.values.get(key(node.source))
        if held is not None:
            pairs = zip(held.axes, at, strict=True)
            return _renamed(held.term, {a: b for a, b in pairs if a != UNIT}, self.fresh)
        param = self.positions.get(key(node.source))
        if param is None:
            raise NoEquivalent(f"{node.source.name} is read before it is written")
        return ("load", param, at)

    def _axes(self, buffer: Any, indices: Any, axes: dict[int, int]) -> tuple[int, ...]:
        """The axis of each dimension; every dimension is run over as a whole."""
        found = []
        for index, size in zip(indices, buffer.shape, strict=True):
            extent = self.number(size)
            axis = axes.get(key(index), UNIT) if isinstance(index, ir.Var) else UNIT
            if axis == UNIT and not (extent == 1 and _is_zero(index)):
                raise NoEquivalent(f"{buffer.name} is indexed by {index}")
            if axis != UNIT and self.extents[axis] != extent:
                raise NoEquivalent(f"only a part of {buffer.name} is used")
            found.append(axis)
        used = [axis for axis in found if axis != UNIT]
        if len(set(used)) != len(used):
            raise NoEquivalent(f"a diagonal of {buffer.name} is used")
        return tuple(found)

    # Terms into operations

    def _named(self, output: int, found: _Value) -> Operation:
        own = [axis for axis in found.axes if axis != UNIT]
        order = {axis: at for at, axis in enumerate(own)}
        term = _renamed(found.term, order, count(len(own)))
        out = self._operand(("load", output, tuple(order.get(a, UNIT) for a in found.axes)))
        for match in (self._matmul, self._reduce, self._softmax, self._elementwise):
            made = match(term, out)
            if made is not None:
                return made
        raise NoEquivalent("it is more than one library operation")

    def _operand(self, load: Term) -> Operand:
        return Operand(load[1], load[2], self.params[load[1]].dtype)

    def _matmul(self, term: Term, out: Operand) -> Operation | None:
        if term[0] != "reduce" or term[1] != "sum":
            return None
        product, over = term[3], term[2]
        if product[0] == "cast" and product[2][0] == "multiply":
            raise NoEquivalent("its products are rounded before they are added")
        if product[0] != "multiply":
            return None
        a, b = (self._widened(side) for side in product[1:])
        if a[0] != "load" or b[0] != "load":
            return None
        left, right = self._operand(a), self._operand(b)
        if len(over) != 1 or not all(over[0] in each.axes for each in (left, right)):
            raise NoEquivalent("its sum is no product of two matrices")
        if left.dtype != right.dtype:
            raise NoEquivalent(f"it multiplies {left.dtype} by {right.dtype}")
        return Operation(
            kind="matmul", name="matmul", output=out, inputs=(left, right), over=over
        )  # fmt: skip

    def _widened(self, term: Term) -> Term:
        """What is below a cast that loses nothing."""
        if term[0] != "cast" or term[2][0] != "load":
            return term
        before, after = self.params[term[2][1]].dtype, term[1]
        if not np.can_cast(np.dtype(DTYPES[before]), np.dtype(DTYPES[after])):
            raise NoEquivalent(f"its inputs are rounded from {before} to {after}")
        return term[2]

    def _reduce(self, term: Term, out: Operand) -> Operation | None:
        if term[0] != "reduce" or term[3][0] != "load":
            return None
        inside = self._operand(term[3])
        if inside.dtype != out.dtype or not set(term[2]) <= set(inside.axes):
            return None
        return Operation(kind="reduce", name=term[1], output=out, inputs=(inside,), over=term[2])

    def _softmax(self, term: Term, out: Operand) -> Operation | None:
        """exp(x - max x) / sum exp(x - max x) along one axis."""
        inside = next((t for t in _loads(term) if set(t[2]) == set(out.axes)), None)
        if inside is None or term[0] != "divide":
            return None
        for axis in (a for a in out.axes if a != UNIT):
            if _canonical(_softmax(inside, axis)) == _canonical(term):
                operand = self._operand(inside)
                if operand.dtype != out.dtype:
                    return None
                return Operation(
                    kind="softmax", name="softmax", output=out, inputs=(operand,), over=(axis,)
                )  # fmt: skip
        return None

    def _elementwise(self, term: Term, out: Operand) -> Operation | None:
        parts = (term,) if term[0] == "load" else term[1:]
        if term[0] in ("reduce", "num", "cast") or any(p[0] not in ("load", "num") for p in parts):
            return None
        name = "copy" if term[0] == "load" else term[0]
        inputs = tuple(p[1] if p[0] == "num" else self._operand(p) for p in parts)
        operands = [each for each in inputs if isinstance(each, Operand)]
        if not operands or any(each.dtype != out.dtype for each in operands):
            return None
        return Operation(kind="elementwise", name=name, output=out, inputs=inputs)


def _softmax(load: Term, axis: int) -> Term:
    def inner(at: int) -> Term:
        """The load with another axis in place of `axis`."""
        return ("load", load[1], tuple(at if a == axis else a for a in load[2]))

    def exps(at: int, largest: int) -> Term:
        most = ("reduce", "max", (largest,), inner(largest))
        return ("exp", ("subtract", inner(at), most))

    return ("divide", exps(axis, 1001), ("reduce", "sum", (1002,), exps(1002, 1003)))


def _renamed(term: Term, names: dict[int, int], fresh: Any) -> Term:
    """The term over other axes; its reductions get axes of their own."""
    if term[0] == "load":
        return ("load", term[1], tuple(names.get(axis, axis) for axis in term[2]))
    if term[0] == "num":
        return term
    if term[0] == "cast":
        return ("cast", term[1], _renamed(term[2], names, fresh))
    if term[0] == "reduce":
        inner = {**names, **{axis: next(fresh) for axis in term[2]}}
        own = tuple(inner[axis] for axis in term[2])
        return ("reduce", term[1], own, _renamed(term[3], inner, fresh))
    return (term[0], *(_renamed(part, names, fresh) for part in term[1:]))


def _canonical(term: Term) -> Term:
    """The term with the axes of its reductions numbered as they come."""
    return _renamed(term, {}, count(2000))


def _loads(term: Term) -> list[Term]:
    if term[0] == "load":
        return [term]
    return [load for part in term[1:] if isinstance(part, tuple) and part and
            isinstance(part[0], str) for load in _loads(part)]  # fmt: skip


def _same_element(side: Any, store: Any) -> bool:
    return (
        isinstance(side, ir.TensorLoad)
        and side.source.same_as(store.buffer)
        and [str(index) for index in side.indices] == [str(index) for index in store.indices]
    )


def _starts(name: str, value: Any) -> bool:
    """The reduction starts from its neutral element."""
    number = getattr(value, "value", None)
    if number is None:
        return False
    if name == "add":
        return bool(number == 0)
    dtype = str(value.ty)
    kind = DTYPES[dtype]
    info = ml_dtypes.finfo(kind) if "float" in dtype else np.iinfo(kind)
    return bool(number <= info.min if name == "maximum" else number >= info.max)


def _is_zero(index: Any) -> bool:
    return isinstance(index, prim.IntImm) and int(index.value) == 0


def _is_true(predicate: Any) -> bool:
    return isinstance(predicate, prim.IntImm) and bool(predicate.value)
