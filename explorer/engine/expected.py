"""What a run should leave: valid inputs, the reference's results, and a second word on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.engine.arrays import Arrays
from explorer.engine.compare import Difference, bits, difference
from explorer.engine.inputs import Param
from explorer.engine.reference import FILL, InvalidInputs
from explorer.engine.setting import PLANS, Plan, Subject
from explorer.engine.tolerance import EPSILON, Numerics

HALVINGS = 24
NUDGES = 8
"""Evaluations on slightly moved inputs, when a difference asks for them: a few of them may all
happen to move a result by little."""
FEW_NUDGES = 3
"""After these at least half of what differs is explained, or it is no rounding."""
FILLS = (0x00, *sorted({plan.poison for plan in PLANS} - {FILL}))
"""What may lie in intermediate buffers before they are written, besides what results come from."""
LLVM_STEPS = 200_000_000
"""With more work than this LLVM is not asked for its word."""


class Expected:
    """Inputs and results for the plans of one instance."""

    def __init__(self, setting: Subject, arrays: Arrays, numerics: Numerics, steps: int) -> None:
        self.setting = setting
        self.arrays = arrays
        self.numerics = numerics
        self.steps = steps
        self.disputed = ""
        """What the two references disagree on, if they do."""

    def inputs(self, plan: Plan) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
        """Inputs on which the reference stays inside its buffers, and its results (None: none).

        Raises InvalidInputs when no such inputs are found.
        """
        setting, arrays = self.setting, self.arrays
        if setting.evaluator is None:
            start = arrays.start(plan, 0)
            return start, self._llvm(start, plan)
        for shrink in range(HALVINGS):
            start = arrays.start(plan, shrink)
            try:
                result = self.evaluated(start, plan)
            except InvalidInputs:
                if shrink == HALVINGS - 1 or not any(param.is_index for param in setting.params):
                    raise
                continue
            break
        if plan.style != "positive" and mostly_nan(result, setting.params):
            return self.inputs(Plan("positive", plan.seed, plan.order, plan.poison))
        if plan.style != "whole":
            self._ask_llvm(start, result, plan)
        return start, result

    def evaluated(
        self,
        start: list[np.ndarray],
        plan: Plan,
        needed: list[np.ndarray | None] | None = None,
        fill: int = FILL,
    ) -> list[np.ndarray]:
        """What the evaluator, which there must be, makes of `start`.  Raises InvalidInputs."""
        assert self.setting.evaluator is not None
        results = [values.copy() for values in start]
        self.setting.evaluator.run(
            results, self.arrays.symbols(), self.arrays.scalars(plan), needed, fill
        )
        return results

    def apart(
        self,
        at: int,
        got: np.ndarray,
        start: list[np.ndarray],
        results: list[np.ndarray],
        plan: Plan,
        needed: list[np.ndarray | None] | None = None,
        written: np.ndarray | None = None,
    ) -> tuple[Difference, np.ndarray]:
        """What differs in parameter `at` (of what was `written`) beyond rounding, and `loose`.

        Elements that are loose don't count as different.  None is looked for where all agree.
        """

        def picked(values: np.ndarray) -> np.ndarray:
            return values if written is None else values[written]

        def compared(slack: np.ndarray | float = 0.0) -> Difference:
            return difference(
                got, expected, self.setting.params[at].dtype, self.numerics,
                whole=plan.style == "whole", slack=slack, poison=plan.poison,
            )  # fmt: skip

        got, expected = picked(got), picked(results[at])
        loose, found = np.zeros(got.shape, bool), compared()
        if found.count:
            loose = picked(self.loose(start, results, plan, needed)[at])
            got = np.where(loose, expected, got)
            found = compared()
        if found.count and plan.style != "whole":
            slack = self.slack(
                start, results, plan, needed, lambda moved: compared(picked(moved[at])).count
            )
            found = compared(picked(slack[at]))
        return found, loose

    def loose(
        self,
        start: list[np.ndarray],
        results: list[np.ndarray],
        plan: Plan,
        needed: list[np.ndarray | None] | None = None,
    ) -> list[np.ndarray]:
        """Which results have no right value: the function makes them of memory it never wrote.

        They are other ones when intermediate buffers hold something else before.
        """
        found = [np.zeros(values.shape, bool) for values in results]
        if self.setting.evaluator is None:
            return found
        for fill in FILLS:
            try:
                other = self.evaluated(start, plan, needed, fill)
            except InvalidInputs:  # an index of such a value
                return [np.ones(values.shape, bool) for values in results]
            for at, values in enumerate(other):
                found[at] |= bits(values) != bits(results[at])
        return found

    def slack(
        self,
        start: list[np.ndarray],
        results: list[np.ndarray],
        plan: Plan,
        needed: list[np.ndarray | None] | None = None,
        left: Callable[[list[np.ndarray]], int] | None = None,
    ) -> list[np.ndarray]:
        """How far each result may move because the function magnifies rounding errors.

        Where a sum almost vanishes and something is divided by it, another order of summing gives
        another result.  Measured: the reference on inputs that are off by a rounding error.
        `left` counts what differs beyond a slack: it ends once nothing does, or too much.
        """
        setting, numerics = self.setting, self.numerics
        moved = [np.zeros(values.shape) for values in results]
        if setting.evaluator is None or not numerics.coarsest:
            return moved
        rng = np.random.default_rng(plan.seed + 200)
        # Inputs of fewer digits than the arithmetic can't move by so little: they all move by
        # more, and the effect is scaled down.
        rounding = EPSILON[numerics.coarsest]
        given = [EPSILON.get(p.dtype, 0.0) for p in setting.params if p.role != "out"]
        size = max([rounding, *given])
        slack, before = moved, 0 if left is None else left(moved)
        for number in range(1, NUDGES + 1):
            nudged = [
                values if param.role == "out" else _nudge(values, param.dtype, size, rng)
                for values, param in zip(start, setting.params, strict=True)
            ]
            try:
                other = self.evaluated(nudged, plan, needed)
            except InvalidInputs:
                continue
            for at, values in enumerate(other):
                with np.errstate(invalid="ignore"):
                    apart = np.abs(values.astype(np.float64) - results[at].astype(np.float64))
                moved[at] = np.fmax(moved[at], np.where(np.isfinite(apart), apart, 0.0))
            slack = [values * numerics.factor() * rounding / size for values in moved]
            now = 1 if left is None else left(slack)
            if not now or (left is not None and number >= FEW_NUDGES and 2 * now > before):
                break
        return slack

    def _ask_llvm(self, start: list[np.ndarray], result: list[np.ndarray], plan: Plan) -> None:
        """Compare the two references once, where there is a right value."""
        setting = self.setting
        if setting.llvm is None or self.disputed or self.steps > LLVM_STEPS:
            return
        other = self._llvm(start, plan)
        setting.llvm = None
        for at, param in enumerate(setting.params):
            if other is None:
                return
            apart, _ = self.apart(at, other[at], start, result, plan)
            if apart.count:
                self.disputed = (
                    f"{param.name}{list(apart.first)} is {apart.got:.6g} on LLVM and "
                    f"{apart.expected:.6g} evaluated"
                )

    def _llvm(self, start: list[np.ndarray], plan: Plan) -> list[np.ndarray] | None:
        """Results of the LLVM build; None where there is none or strides are not compact."""
        setting, arrays = self.setting, self.arrays
        if setting.llvm is None:
            return None
        shapes = [arrays.shapes.shape(param.var) for param in setting.params]
        counts = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
        if counts != [values.size for values in start]:
            return None
        compact = [values.reshape(shape) for values, shape in zip(start, shapes, strict=True)]
        order = arrays.arguments(list(range(len(compact))), plan)
        numbers = {at for at, var in enumerate(setting.func.params) if var in setting.scalars}
        out = setting.llvm.run(compact, [p.dtype for p in setting.params], order, numbers)
        return [values.reshape(-1) for values in out]


def no_right_value(param: Param, loose: np.ndarray) -> str:
    """Words for `loose` elements of a parameter: nothing else of it differs."""
    count = int(loose.sum())
    rest = "" if count == loose.size else " The others agree."
    return (
        f"{count} of {loose.size} elements of {param.name} have no right value: the "
        "unscheduled function itself makes them of an intermediate buffer that it reads "
        f"before it writes it.{rest}"
    )


def _nudge(values: np.ndarray, dtype: str, size: float, rng: np.random.Generator) -> np.ndarray:
    """Reals off by up to `size`, relative; anything else as it is."""
    if dtype not in EPSILON:
        return values
    factor = 1 + size * rng.uniform(-1, 1, values.shape)
    moved: np.ndarray = (values.astype(np.float64) * factor).astype(values.dtype)
    return moved


def mostly_nan(results: list[np.ndarray], params: list[Param]) -> bool:
    """More than a quarter of a result is NaN: the inputs are outside the function's domain."""
    for values, param in zip(results, params, strict=True):
        if param.role != "in" and "float" in param.dtype and values.size:
            if np.isnan(values.astype(np.float64)).mean() > 0.25:
                return True
    return False
