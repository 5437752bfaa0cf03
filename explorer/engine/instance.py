"""A function with numbers for all sizes: run in several orders, compared and judged."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from explorer.emulator.machine import Report
from explorer.engine.arrays import Arrays
from explorer.engine.compare import Difference, difference
from explorer.engine.dltensor import cuda_tensor
from explorer.engine.expected import Expected, no_right_value
from explorer.engine.inputs import Param
from explorer.engine.reference import InvalidInputs
from explorer.engine.setting import PLANS, Covered, Plan, Setting, steps_of
from explorer.engine.tolerance import numerics
from explorer.model.result import Check, CheckStatus

MAX_BYTES = 512 << 20
RUN_LIMIT_S = 5.0
"""Processor time of one run."""
HANG_LIMIT_S = 12.0
"""A run that should have ended long before gets this much more before it is called a hang."""
SECONDS_A_STEP = 150e-9
"""An innermost statement of the function takes about so long in the emulator."""
SAMPLE_OVER_S = 1.5
"""A run expected to take longer is made on a sample of blocks."""
REFERENCE_STEPS = 1_000_000_000
"""A reference that must be evaluated everywhere may take so many steps."""
HOST_REFUSALS = (ValueError, TypeError, RuntimeError)
"""What TVM's host code raises when it does not take the arguments."""


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
    written: list[np.ndarray | None]
    """Per buffer, with a sample of blocks: the elements that were stored to."""


class Instance:
    """Runs one set of sizes."""

    def __init__(self, setting: Setting, sizes: dict[str, int]) -> None:
        self.setting = setting
        self.sizes = sizes
        self.arrays = Arrays(setting, sizes, 0)
        self.numerics = numerics(setting.func, self.arrays.shapes.number)
        self.arrays.whole_top = self.numerics.whole_top() or 2
        self.steps = steps_of(setting.func, self.arrays.shapes.number)
        self.expected = Expected(setting, self.arrays, self.numerics, self.steps)
        expected_s = self.steps * SECONDS_A_STEP
        self.fraction = 1.0
        if expected_s > SAMPLE_OVER_S and setting.one_launch and setting.evaluator is not None:
            self.fraction = SAMPLE_OVER_S / 2 / expected_s
        self.covered = Covered()
        self.worst_error = 0.0
        self.loose: Outcome | None = None
        """Told when nothing else is wrong: elements for which there is no right value."""
        self.unwritten = False
        """Whether a kernel read memory that was not written."""
        self.limit_s = RUN_LIMIT_S

    def run(self, deadline: float, *, least: int) -> Outcome:
        """All plans in turn until one shows a fault or (after `least` runs) the time is up."""
        setting = self.setting
        for param in setting.params:
            setting.words.shapes[param.name] = self.arrays.shapes.shape(param.var)
        if self.arrays.nbytes() > MAX_BYTES:
            return self._no(f"Too large to run here: {self.arrays.nbytes() >> 20} MB of buffers.")
        plans = PLANS if self.numerics.whole_top() else PLANS[1:]
        for number, plan in enumerate(plans):
            at_least = len(plans) if self.unwritten else least
            if number >= at_least and time.process_time() > deadline:
                break
            try:
                found = self._sampled(plan) if self.fraction < 1 else self._whole(plan)
            except InvalidInputs as outside:
                return self._outside(plan, str(outside))
            except HOST_REFUSALS as refused:
                reason = str(refused).strip().splitlines()[-1][:200]
                return self._no(f"The host code refuses these sizes: {reason}")
            if found is not None:
                return found
        if self.loose is not None:
            return self.loose
        if self.expected.disputed:
            return self._no(f"The two references disagree: {self.expected.disputed}.")
        if setting.evaluator is None and setting.llvm is None:
            return self._no(
                f"No reference: {setting.no_reference}, and LLVM can't build it.  Bounds, races "
                "and barriers showed nothing."
            )
        text = f"All elements agree with {self._reference_name()}."
        names = ", ".join(param.name for param in setting.params if param.distinct)
        if names:
            text += (
                f" Values of {names}, which say where results go, were all different; threads "
                "whose values are equal would write the same element."
            )
        return Outcome(self._check("match", text))

    # One run

    def _whole(self, plan: Plan) -> Outcome | None:
        """Run all blocks; the fault it shows, or None."""
        start, results = self.expected.inputs(plan)
        run = self._launch(start, plan)
        if run.report.fatal == "limit" and not self._heavy():
            self.limit_s = HANG_LIMIT_S
            run = self._launch(start, plan)
        fault = self._fault(run)
        if fault is not None or results is None:
            return fault
        for at, param in enumerate(self.setting.params):
            found = self._noted(
                param, *self.expected.apart(at, run.outputs[at], start, results, plan)
            )
            self.worst_error = max(self.worst_error, found.largest)
            if found.count:
                return self._mismatch(plan, param, at, found, start, run)
        return None

    def _noted(self, param: Param, found: Difference, loose: np.ndarray) -> Difference:
        """What was `found`; that some elements have no right value is kept for the verdict."""
        if loose.any():
            self.loose = self.loose or self._no(no_right_value(param, loose))
        return found

    def _sampled(self, plan: Plan) -> Outcome | None:
        """Run some blocks and compare what they wrote; the fault it shows, or None."""
        setting, arrays = self.setting, self.arrays
        assert setting.evaluator is not None
        if self.steps > REFERENCE_STEPS and not setting.evaluator.skips:
            return self._no(f"Too large to run here: {self.steps:.1e} steps in several stages.")
        start = arrays.start(plan, 0)
        run = self._launch(start, plan)
        fault = self._fault(run)
        if fault is not None:
            return fault
        needed = [None if w is None else w.astype(np.uint8) for w in run.written]
        results = self.expected.evaluated(start, plan, needed)
        for at, param in enumerate(setting.params):
            written = run.written[at]
            if written is None:
                continue
            share = run.report.blocks / max(run.report.all_blocks, 1)
            if written.size and float(written.mean()) < 0.97 * share:
                return self._no(
                    f"Too large to run whole, and {run.report.blocks} of {run.report.all_blocks} "
                    f"blocks wrote less than their share of {param.name}."
                )
            apart = self.expected.apart(at, run.outputs[at], start, results, plan, needed, written)
            found = self._noted(param, *apart)
            self.worst_error = max(self.worst_error, found.largest)
            if found.count:
                place = int(np.flatnonzero(written)[found.first[0]])
                text = (
                    f"{found.count} of {found.total} elements of {param.name} that a sample of "
                    f"blocks wrote differ; first {self._place(param, place)}: {found.sentence()}."
                )
                return Outcome(self._check("mismatch", text, found.largest))
        return None

    def _outside(self, plan: Plan, buffer: str) -> Outcome:
        """The reference leaves `buffer`: the function's own fault where no input decides on it."""
        if not self.sizes and not any(param.is_index for param in self.setting.params):
            found = self._fault(self._launch(self.arrays.start(plan, 0), plan))
            if found is not None and found.check.status == "out_of_bounds":
                text = f"{found.check.detail}  The unscheduled function does the same."
                return Outcome(self._check("out_of_bounds", text))
        return self._no(f"No valid inputs were found: the reference leaves {buffer}.")

    def _fault(self, run: Run) -> Outcome | None:
        """What ended the run or raced in it."""
        words, report = self.setting.words, run.report
        if report.fatal == "limit" and self._heavy():
            return self._no(
                f"Too large to run here: {self.steps:.1e} steps in {RUN_LIMIT_S:.0f} s."
            )
        if report.fatal:
            status, text = words.fatal(report)
            if status == "not_checked":
                return self._no(text, note=f"With {self._at()}: {text}" if self.sizes else "")
            return Outcome(self._check(status, text))
        if report.races and report.race is not None:
            return Outcome(self._check("race", words.race(report.race)))
        return None

    def _heavy(self) -> bool:
        """So much work that a run may hit its limit without hanging."""
        return self.steps * SECONDS_A_STEP > RUN_LIMIT_S / 4

    def _mismatch(
        self,
        plan: Plan,
        param: Param,
        at: int,
        found: Difference,
        start: list[np.ndarray],
        run: Run,
    ) -> Outcome:
        """A difference is a race when another order of threads gives another result."""
        other_order = "backward" if plan.order != "backward" else "forward"
        again = self._launch(start, Plan(plan.style, plan.seed, other_order, plan.poison))
        if not again.report.fatal:
            moved = difference(
                again.outputs[at], run.outputs[at], param.dtype, self.numerics, whole=False
            )
            if moved.count:
                return Outcome(self._check("race", (
                    f"The result depends on the order of threads: "
                    f"{self._place(param, moved.first[0])} is {moved.expected:.6g} {plan.order} "
                    f"and {moved.got:.6g} {other_order}."
                )))  # fmt: skip
        text = (
            f"{found.count} of {found.total} elements of {param.name} differ; first "
            f"{self._place(param, found.first[0])}: {found.sentence()}."
        )
        if param.role == "in":
            text = f"The kernel changes its input {param.name}: {text}"
        elif run.report.uninitialised and run.report.uninitialised_where is not None:
            text += f"  {run.report.uninitialised_where.buffer} is read before it is written."
        return Outcome(self._check("mismatch", text, found.largest))

    def _launch(self, start: list[np.ndarray], plan: Plan) -> Run:
        """Run the host function on copies of `start` in emulated memory."""
        setting, machine = self.setting, self.setting.machine
        machine.clear()
        memory, views = [], []
        for param, values in zip(setting.params, start, strict=True):
            array = machine.buffer(param.name, values.shape, values.dtype, role=param.role)
            array[...] = values
            memory.append(array)
            views.append(cuda_tensor(self.arrays.view(param, array), param.dtype))
        machine.configure(plan.order, plan.seed, plan.poison, setting.limits, self.fraction)
        since = machine.epoch()
        machine.begin(self.limit_s)
        try:
            setting.call(*self.arrays.arguments(views, plan))
        finally:
            report = machine.end()
        self.unwritten |= bool(report.uninitialised)
        self.covered.add(plan.order, report.blocks, report.all_blocks)
        written = [
            machine.written(array, since) if param.role != "in" and self.fraction < 1 else None
            for param, array in zip(setting.params, memory, strict=True)
        ]
        return Run(report, [array.copy() for array in memory], written)

    # Words

    def _place(self, param: Param, flat: int) -> str:
        """An element by its index in every dimension."""
        shape = self.arrays.shapes.shape(param.var)
        strides = self.arrays.shapes.strides(param.var)
        index = []
        for size, step in zip(shape, strides, strict=True):
            index.append(flat // step % size if step else 0)
        return f"{param.name}[{', '.join(map(str, index))}]"

    def _at(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.sizes.items())

    def _reference_name(self) -> str:
        if self.setting.evaluator is None:
            return "the unscheduled function on LLVM"
        return "the unscheduled function"

    def _check(self, status: CheckStatus, text: str, error: float | None = None) -> Check:
        at = f"  With {self._at()}." if self.sizes and status != "match" else ""
        if status == "match":
            error = self.worst_error
        return Check(status=status, detail=text + at, covered=self._covered(), max_error=error)

    def _covered(self) -> str:
        sizes = f"{self._at()}: " if self.sizes else ""
        dtypes = dict.fromkeys(p.dtype for p in self.setting.params if p.role != "in")
        tolerance = "; ".join(self.numerics.sentence(dtype) for dtype in dtypes)
        orders = ", ".join(dict.fromkeys(self.covered.orders))
        blocks = ""
        if self.fraction < 1:
            blocks = f" on a sample of {self.covered.blocks} of {self.covered.all_blocks} blocks"
        count = len(self.covered.orders)
        return f"{sizes}{count} run{'s' * (count != 1)}{blocks} ({orders}); {tolerance}"

    def _no(self, detail: str, note: str = "") -> Outcome:
        return Outcome(Check(status="not_checked", detail=detail), note)
