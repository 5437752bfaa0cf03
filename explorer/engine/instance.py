"""A function with numbers for all sizes: inputs, runs in several orders, and the comparison."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi
from tvm import ir, tirx

from explorer.emulator.machine import Limits, Machine, Report
from explorer.engine.compare import Difference, difference
from explorer.engine.dltensor import cuda_tensor
from explorer.engine.inputs import DTYPES, Param, Shapes, Style, make
from explorer.engine.reference import Evaluator, InvalidInputs, Llvm
from explorer.engine.tolerance import numerics
from explorer.engine.verdict import Words
from explorer.model.result import Check

MAX_BYTES = 1 << 30
HOST_REFUSALS = (ValueError, TypeError, RuntimeError)
"""What TVM's host code raises when it does not take the arguments."""


@dataclass
class Setting:
    """What all instances of a function share."""

    machine: Machine
    call: Callable[..., Any]
    func: tirx.PrimFunc
    params: list[Param]
    scalars: list[Any]
    symbols: list[Any]
    evaluator: Evaluator | None
    llvm: Llvm | None
    no_reference: str
    limits: Limits
    words: Words


@dataclass
class Outcome:
    """A verdict for one set of sizes; `note` is worth telling even when it does not count."""

    check: Check
    note: str = ""


@dataclass
class Run:
    """One run of the host function and what it left."""

    report: Report
    outputs: list[np.ndarray]


@dataclass(frozen=True)
class Plan:
    """How one run is made."""

    style: Style
    seed: int
    order: str
    poison: int


PLANS = (
    Plan("whole", 1, "forward", 0xFF),
    Plan("real", 2, "backward", 0xFF),
    Plan("real", 2, "forward", 0xCB),
    Plan("real", 3, "shuffled", 0xCB),
)


class Instance:
    """Runs one set of sizes."""

    def __init__(self, setting: Setting, sizes: dict[str, int]) -> None:
        self.setting = setting
        self.sizes = sizes
        self.shapes = Shapes(setting.symbols, sizes)
        self.numerics = numerics(setting.func, self.shapes.number)
        self.worst_error = 0.0
        self.second_word = ""

    def run(self, deadline: float, *, first: bool) -> Outcome:
        """All plans in turn until one shows a fault."""
        setting = self.setting
        for param in setting.params:
            setting.words.shapes[param.name] = self.shapes.shape(param.var)
        if self._bytes() > MAX_BYTES:
            return self._no(f"Too large to run here: {self._bytes() >> 20} MB of buffers.")
        done: list[str] = []
        for number, plan in enumerate(self._plans()):
            if number > (2 if first else 0) and time.process_time() > deadline:
                break
            try:
                found = self._one(plan)
            except InvalidInputs as outside:
                return self._no(f"No valid inputs were found: {outside} was left by the reference.")
            except HOST_REFUSALS as refused:
                return self._no(f"The host code refuses these sizes: {str(refused).splitlines()[-1][:200]}")
            if found is not None:
                return found
            done.append(f"{plan.order}")
        if setting.evaluator is None and setting.llvm is None:
            return self._no(
                f"No reference: {setting.no_reference}, and LLVM can't build it.  Bounds, races and "
                "barriers showed nothing."
            )
        return Outcome(
            Check(
                status="match",
                detail=f"All elements agree with {self._reference_name()}.",
                covered=self._covered(done),
                max_error=self.worst_error,
            )
        )

    # One run

    def _one(self, plan: Plan) -> Outcome | None:
        """The fault that a run shows, or None."""
        setting = self.setting
        start, expected = self._inputs_and_results(plan)
        run = self._launch(start, plan)
        words = setting.words
        if run.report.fatal:
            status, text = words.fatal(run.report)
            if status == "not_checked":
                return self._no(text, note=f"With {self._at()}: {text}" if self.sizes else text)
            return Outcome(Check(status=status, detail=text + self._suffix(), covered=self._covered([plan.order])))
        if run.report.races and run.report.race is not None:
            text = words.race(run.report.race)
            return Outcome(Check(status="race", detail=text + self._suffix(), covered=self._covered([plan.order])))
        if expected is None:
            return None
        for at, param in enumerate(setting.params):
            found = difference(run.outputs[at], expected[at], param.dtype, self.numerics, whole=plan.style == "whole")
            self.worst_error = max(self.worst_error, found.largest)
            if found.count:
                return self._mismatch(plan, param, at, found, start, run)
        return None

    def _mismatch(
        self, plan: Plan, param: Param, at: int, found: Difference, start: list[np.ndarray], run: Run
    ) -> Outcome:
        """A difference is a race when another order of threads gives another result."""
        other_order = "backward" if plan.order == "forward" else "forward"
        again = self._launch(start, Plan(plan.style, plan.seed, other_order, plan.poison))
        covered = self._covered([plan.order, other_order])
        if not again.report.fatal:
            moved = difference(again.outputs[at], run.outputs[at], param.dtype, self.numerics, whole=False)
            if moved.count:
                text = (
                    f"The result depends on the order of threads: {param.name}{list(moved.first)} is "
                    f"{moved.expected:.6g} {plan.order} and {moved.got:.6g} {other_order}."
                )
                return Outcome(Check(status="race", detail=text + self._suffix(), covered=covered))
        where = f"{param.name}{list(found.first)}" if found.first else param.name
        text = f"{found.count} of {found.total} elements of {param.name} differ; first {where}: {found.sentence()}."
        if param.role == "in":
            text = f"The kernel changes its input {param.name}: {text}"
        elif run.report.uninitialised and run.report.uninitialised_where is not None:
            event = run.report.uninitialised_where
            text += f"  {event.buffer} is read before it is written."
        return Outcome(Check(status="mismatch", detail=text + self._suffix(), covered=covered, max_error=found.largest))

    def _launch(self, start: list[np.ndarray], plan: Plan) -> Run:
        """Run the host function on copies of `start` in emulated memory."""
        setting, machine = self.setting, self.setting.machine
        machine.clear()
        arrays, views = [], []
        for param, values in zip(setting.params, start, strict=True):
            memory = machine.buffer(param.name, values.shape, values.dtype, role=param.role)
            memory[...] = values
            arrays.append(memory)
            views.append(cuda_tensor(self._strided(param, memory), param.dtype))
        machine.configure(plan.order, plan.seed, plan.poison, setting.limits)
        scalars = iter(self._scalars(plan))
        by_name = dict(zip([p.name for p in setting.params], views, strict=True))
        args = [
            by_name[str(var.name)] if tirx.is_buffer_var(var) else next(scalars)
            for var in setting.func.params
        ]
        machine.begin(RUN_LIMIT_S)
        try:
            setting.call(*args)
        finally:
            report = machine.end()
        return Run(report, [array.copy() for array in arrays])

    def _inputs_and_results(self, plan: Plan) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
        """Flat inputs on which the reference stays inside its buffers, and what it computes."""
        setting = self.setting
        for shrink in range(0, 24):
            start = self._start(plan, shrink)
            if setting.evaluator is None:
                return start, self._llvm_results(start, plan)
            result = [values.copy() for values in start]
            try:
                setting.evaluator.run(
                    result, [self.sizes[str(s.name)] for s in setting.symbols], self._scalars(plan)
                )
            except InvalidInputs:
                if shrink < 23 and any(param.is_index for param in setting.params):
                    continue
                raise
            if plan.style != "positive" and _mostly_nan(result, setting.params):
                positive = Plan("positive", plan.seed, plan.order, plan.poison)
                return self._inputs_and_results(positive)
            return start, result
        raise InvalidInputs("an index")

    def _llvm_results(self, start: list[np.ndarray], plan: Plan) -> list[np.ndarray] | None:
        setting = self.setting
        if setting.llvm is None:
            return None
        order: list[Any] = []
        scalars = iter(self._scalars(plan))
        names = [param.name for param in setting.params]
        for var in setting.func.params:
            order.append(names.index(str(var.name)) if tirx.is_buffer_var(var) else next(scalars))
        compact = [
            values.reshape(self.shapes.shape(param.var))
            for param, values in zip(setting.params, start, strict=True)
        ]
        out = setting.llvm.run(compact, [param.dtype for param in setting.params], order)
        return [values.reshape(-1) for values in out]

    def _start(self, plan: Plan, shrink: int) -> list[np.ndarray]:
        """Flat contents of all buffers before a run: inputs, and poison where results go."""
        rng = np.random.default_rng(plan.seed)
        found = []
        for param in self.setting.params:
            count = self._span(param)
            kind = DTYPES[param.dtype]
            if param.role == "out":
                raw = np.full(count * np.dtype(kind).itemsize, plan.poison, np.uint8)
                found.append(raw.view(kind))
                continue
            extents = [max(self.shapes.number(e) >> shrink, 1) for e in param.index_of if _known(self.shapes, e)]
            style: Style = plan.style
            top = self.numerics.whole_top() or 2
            found.append(make(param, (count,), extents, rng, style, top))
        return found

    def _scalars(self, plan: Plan) -> list[Any]:
        rng = np.random.default_rng(plan.seed + 100)
        values: list[Any] = []
        for var in self.setting.scalars:
            dtype = str(var.ty)
            if str(var.name) in self.sizes:
                values.append(self.sizes[str(var.name)])
            elif "float" in dtype:
                values.append(float(np.float32(rng.uniform(0.5, 2.0))))
            else:
                values.append(int(rng.integers(1, 4)))
        return values

    # Sizes

    def _span(self, param: Param) -> int:
        """Elements from a buffer's first to its last, with its strides."""
        shape, strides = self.shapes.shape(param.var), self.shapes.strides(param.var)
        if 0 in shape:
            return 0
        return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))

    def _strided(self, param: Param, memory: np.ndarray) -> np.ndarray:
        shape, strides = self.shapes.shape(param.var), self.shapes.strides(param.var)
        steps = tuple(step * memory.itemsize for step in strides)
        return np.lib.stride_tricks.as_strided(memory, shape, steps)

    def _bytes(self) -> int:
        return sum(self._span(p) * np.dtype(DTYPES[p.dtype]).itemsize for p in self.setting.params)

    def _plans(self) -> tuple[Plan, ...]:
        return PLANS if self.numerics.whole_top() else PLANS[1:]

    # Words

    def _at(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.sizes.items())

    def _suffix(self) -> str:
        return f"  With {self._at()}." if self.sizes else ""

    def _reference_name(self) -> str:
        if self.setting.evaluator is None:
            return "the unscheduled function on LLVM"
        return "the unscheduled function"

    def _covered(self, orders: list[str]) -> str:
        sizes = f"{self._at()}: " if self.sizes else ""
        dtypes = dict.fromkeys(p.dtype for p in self.setting.params if p.role != "in")
        tolerance = "; ".join(self.numerics.sentence(dtype) for dtype in dtypes)
        return f"{sizes}{len(orders)} runs ({', '.join(dict.fromkeys(orders))}); {tolerance}"

    def _no(self, detail: str, note: str = "") -> Outcome:
        return Outcome(Check(status="not_checked", detail=detail), note)


RUN_LIMIT_S = 10.0


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


def _known(shapes: Shapes, value: Any) -> bool:
    try:
        shapes.number(value)
    except ValueError:
        return False
    return True


def _mostly_nan(results: list[np.ndarray], params: list[Param]) -> bool:
    """More than a quarter of a result is not a number: the inputs are outside a function's domain."""
    for values, param in zip(results, params, strict=True):
        if param.role != "in" and "float" in param.dtype and values.size:
            if np.isnan(values.astype(np.float64)).mean() > 0.25:
                return True
    return False
