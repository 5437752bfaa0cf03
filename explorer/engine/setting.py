"""What all runs of one function share, and how a single run is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import ir, s_tir, tirx

from explorer.emulator.machine import Limits, Machine
from explorer.engine.inputs import Param, Style, children
from explorer.engine.reference import Evaluator, Llvm
from explorer.engine.verdict import Words


@dataclass(kw_only=True)
class Subject:
    """A function to be run: its parameters and its references."""

    func: tirx.PrimFunc
    params: list[Param]
    scalars: list[Any]
    symbols: list[Any]
    evaluator: Evaluator | None
    llvm: Llvm | None
    no_reference: str = ""


@dataclass(kw_only=True)
class Setting(Subject):
    """A function that is ready to run on the emulated device: its host function, what it may use.

    `one_launch` tells that a call launches one kernel once, so that a sample of blocks means
    something.
    """

    machine: Machine
    call: Callable[..., Any]
    limits: Limits
    words: Words
    one_launch: bool


@dataclass(frozen=True)
class Plan:
    """One run: kind of inputs, their seed, order of threads, poison for what is not written."""

    style: Style
    seed: int
    order: str
    poison: int


PLANS = (
    Plan("whole", 1, "forward", 0xFF),
    Plan("real", 2, "backward", 0xCB),
    Plan("real", 2, "forward", 0x4B),
    Plan("real", 3, "shuffled", 0xCB),
)
"""Whole numbers first: where sums of them are exact, one wrong term shows.

What memory holds before is no number, a large negative or a large positive one: `max`, `min` and
comparisons hide some of these each.
"""


@dataclass
class Covered:
    """What the runs of one instance covered."""

    orders: list[str] = field(default_factory=list)
    blocks: int = 0
    all_blocks: int = 0

    def add(self, order: str, blocks: int, all_blocks: int) -> None:
        """Note one more run."""
        self.orders.append(order)
        self.blocks, self.all_blocks = blocks, all_blocks


def symbols_of(func: tirx.PrimFunc) -> list[Any]:
    """The symbolic sizes and strides of a function's buffers, by first appearance."""
    found: dict[str, Any] = {}
    for var in func.params:
        if tirx.is_buffer_var(var):
            for value in (*var.shape, *var.strides):
                for symbol in variables(value):
                    found.setdefault(str(symbol.name), symbol)
    return list(found.values())


def variables(value: Any) -> list[Any]:
    """The variables of an expression."""
    found: list[Any] = []
    if not isinstance(value, int):
        tvm_ffi.structural_walk(value, (ir.Var, found.append))
    return found


def steps_of(func: tirx.PrimFunc, number: Callable[[Any], int]) -> int:
    """How often the innermost statements run in all; loops of unknown extent count once."""

    def count(node: Any, times: int) -> int:
        if isinstance(node, tirx.For):
            try:
                times *= max(number(node.extent), 1)
            except ValueError:
                times *= 1
        below = children(node)
        if isinstance(node, s_tir.SBlock) and node.init is not None:
            below = below[1:]
        return sum(count(child, times) for child in below) if below else times

    return count(func.body, 1)
