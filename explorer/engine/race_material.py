"""What a function is timed on: inputs, and what it should leave, in memory that processes share."""

from __future__ import annotations

import mmap
import threading
from contextlib import suppress
from math import prod
from typing import Any

import msgspec
import numpy as np
from tvm import ir

from explorer.emulator import compiler as cc
from explorer.engine.arrays import Arrays
from explorer.engine.compare import Difference, difference
from explorer.engine.evaluator import NotEvaluated, Writer
from explorer.engine.expected import Expected, no_right_value
from explorer.engine.inputs import DTYPES, params_of, scalars_of
from explorer.engine.isolate import Died, isolated
from explorer.engine.reference import Evaluator, InvalidInputs, llvm_or_none
from explorer.engine.setting import Plan, Subject, steps_of, symbols_of
from explorer.engine.sizes import size_sets, stride_symbols
from explorer.engine.tolerance import numerics
from explorer.errors import SizeError
from explorer.model.options import sizes
from explorer.model.result import Check

PLANS = (Plan("positive", 11, "", 0xCB), Plan("positive", 12, "", 0xFF))
"""Two sets of inputs, used in turn.  Positive, so that no function leaves its domain."""
REFERENCE_S = 60.0
WEIGH_S = 20.0
"""A first difference is weighed for so long at most."""
WHOLE_STEPS = 2_000_000_000
"""With more work than this the reference is made for a sample of the elements."""
SAMPLE_STEPS = 200_000_000
MOST_BYTES = 4 << 30


class Ready(msgspec.Struct, frozen=True):
    """What the reference is, or why there is none."""

    made: bool
    words: str


class Material:
    """One function with numbers for its sizes."""

    def __init__(self, original: ir.IRModule, name: str, given: dict[str, int]) -> None:
        """Raises SizeError when sizes are missing or the arguments can't be made here."""
        self.original, self.name = original, name
        func = original[name]
        self.subject = Subject(
            func=func, params=params_of(func), scalars=scalars_of(func), symbols=symbols_of(func),
            evaluator=None, llvm=None,
        )  # fmt: skip
        self._need_sizes(given)
        self.sizes, _ = next(size_sets(self.subject, given))
        self.arrays = Arrays(self.subject, self.sizes, 0)
        self.numerics = numerics(func, self.arrays.shapes.number)
        self.steps = steps_of(func, self.arrays.shapes.number)
        self._need_plain_memory()
        self.start = [self._shared() for _ in PLANS]
        self.expected = [self._shared() for _ in PLANS]
        self._slack = [self._shared("float64") for _ in PLANS]
        self._loose = [self._shared("bool") for _ in PLANS]
        self._state = np.frombuffer(mmap.mmap(-1, 2), np.uint8)
        self.ready: Ready | None = None
        self._making = threading.Lock()
        self._filled: set[int] = set()
        self.fill(0)

    def fill(self, plan: int) -> None:
        """Make the inputs of that plan, unless they are there: the first figure needs one only."""
        with self._making:
            if plan in self._filled:
                return
            for to, values in zip(self.start[plan], self.arrays.start(PLANS[plan], 0), strict=True):
                to[...] = values.reshape(to.shape)
            self._filled.add(plan)

    @property
    def needs_reference_first(self) -> bool:
        """Some inputs are indices: only the reference knows which values stay inside."""
        return any(param.is_index for param in self.subject.params)

    @property
    def changes_inputs(self) -> bool:
        """A call reads what an earlier call left."""
        return any(param.role == "inout" for param in self.subject.params)

    @property
    def has_reference(self) -> bool:
        """`expected` holds results."""
        return bool(self._state[0])

    @property
    def weighed(self) -> bool:
        """Some result differed; what rounding and unwritten memory explain of it is known."""
        return bool(self._state[1])

    def weigh(self) -> None:
        """Find what a difference may be besides a fault; kept as far as it comes in WEIGH_S."""
        if not self.has_reference:
            self.make_reference()
        if self.has_reference and not self.weighed:
            with suppress(Died):
                isolated(self._weighing, bool, WEIGH_S)
        self._state[1] = True

    def make_reference(self) -> Ready:
        """Compute what should come out, once, in a process of its own; at most REFERENCE_S."""
        with self._making:
            if self.ready is None:
                try:
                    self.ready = isolated(self._reference, Ready, REFERENCE_S)
                except Died as died:
                    lines = str(died).strip().splitlines()
                    self.ready = Ready(False, f"the reference ended early: {lines[-1]}")
                self._state[0] = self.ready.made
                if self.ready.made:
                    self._filled |= set(range(len(PLANS)))
            return self.ready

    def wrong(self, plan: int, results: list[np.ndarray | None]) -> str:
        """What is wrong with results of a run (None: an input), in words, or "".

        Before `weigh` this may be what the function itself makes of rounding or unwritten memory.
        """
        for at, values in enumerate(results):
            if values is None:
                continue
            wanted, slack = self.expected[plan][at], self._slack[plan][at]
            got = np.where(self._loose[plan][at], wanted, values) if self.weighed else values
            mask = self._sample(plan, at)
            if mask is not None:
                got, wanted, slack = got[mask], wanted[mask], slack[mask]
            found = self.compare(at, got, wanted, slack if self.weighed else None)
            if found.count:
                param = self.subject.params[at]
                place = self._place(at, mask, found)
                return (
                    f"{found.count} of {found.total} elements of {param.name} differ; first "
                    f"{param.name}[{place}]: {found.sentence()}."
                )
        return ""

    def compare(
        self, at: int, got: np.ndarray, wanted: np.ndarray, slack: np.ndarray | None = None
    ) -> Difference:
        """Two contents of parameter `at`; `slack` is what each element may be off besides."""
        return difference(
            got.reshape(-1), wanted.reshape(-1), self.subject.params[at].dtype, self.numerics,
            whole=False, slack=0.0 if slack is None else slack.reshape(-1),
        )  # fmt: skip

    def check(self, wrong: str, rounds: int) -> Check:
        """The verdict on a variant's timed runs."""
        if wrong:
            return Check(status="mismatch", detail=wrong)
        if self.ready is None or not self.ready.made:
            why = self.ready.words if self.ready else "the race ended before"
            return Check(status="not_checked", detail=f"No reference: {why}.")
        for param, loose in zip(self.subject.params, self._loose[0], strict=True):
            if self.weighed and loose.any():
                return Check(status="not_checked", detail=no_right_value(param, loose))
        detail = f"The outputs of {rounds} rounds agree with {self.ready.words}."
        return Check(status="match", detail=detail)

    # Making it

    def _need_sizes(self, given: dict[str, int]) -> None:
        strides = stride_symbols(self.subject)
        names = [str(symbol.name) for symbol in self.subject.symbols]
        missing = [name for name in names if name not in given and name not in strides]
        if missing:
            raise SizeError(
                f"{', '.join(missing)} of {self.name} has no value.",
                "A time is the time of one size.",
                f"{sizes(missing)}.",
            )

    def _need_plain_memory(self) -> None:
        for param in self.subject.params:
            if param.dtype not in DTYPES:
                raise SizeError(f"Arrays of {param.dtype} ({param.name}) can't be made here.")
            shape = self.arrays.shapes.shape(param.var)
            if self.arrays.span(param) != prod(shape):
                raise SizeError(
                    f"{param.name} is not compact.", "Its strides leave gaps between elements.",
                    "Give strides that fit the shape.",
                )  # fmt: skip
        total = self.arrays.nbytes()
        if 2 * len(PLANS) * total > MOST_BYTES:
            raise SizeError(f"The buffers are too large to race here: {total >> 20} MB.")

    def _shared(self, dtype: str = "") -> list[np.ndarray]:
        """Arrays of the parameters' shapes (and dtypes, or `dtype`) that forked processes share."""
        found = []
        for param in self.subject.params:
            shape = self.arrays.shapes.shape(param.var)
            kind = np.dtype(dtype or DTYPES[param.dtype])
            memory = mmap.mmap(-1, max(prod(shape) * kind.itemsize, 1))
            found.append(np.frombuffer(memory, kind, prod(shape)).reshape(shape))
        return found

    def _reference(self) -> Ready:
        """In the process of its own: fill `expected`, and `start` where indices had to change."""
        subject = self.subject
        subject.evaluator, why = self._evaluator()
        sampled = self.steps > WHOLE_STEPS
        if sampled and (subject.evaluator is None or not subject.evaluator.skips):
            return Ready(False, f"the unscheduled function takes {self.steps:.1e} steps")
        if subject.evaluator is None or self.steps <= SAMPLE_STEPS:
            subject.llvm = llvm_or_none(self.original, self.name)
        if subject.evaluator is None and subject.llvm is None:
            return Ready(False, f"{why}, and LLVM can't build the unscheduled function")
        expected = Expected(subject, self.arrays, self.numerics, self.steps)
        for at, plan in enumerate(PLANS):
            try:
                if sampled:
                    start, results = self._sampled_results(at, plan)
                else:
                    start, found = expected.inputs(plan)
                    if found is None:
                        return Ready(False, "LLVM gave no result")
                    results = found
            except InvalidInputs as outside:
                return Ready(False, f"no valid inputs were found, the reference leaves {outside}")
            for to, values in zip(self.start[at], start, strict=True):
                to[...] = values.reshape(to.shape)
            for to, values in zip(self.expected[at], results, strict=True):
                to[...] = values.reshape(to.shape)
        if expected.disputed:
            return Ready(False, f"the two references disagree on {expected.disputed}")
        words = "the unscheduled function"
        return Ready(True, f"{words} on a sample of elements" if sampled else words)

    def _weighing(self) -> bool:
        """In a process of its own: fill `_loose` and `_slack`, where an evaluator can tell."""
        subject = self.subject
        subject.evaluator, _ = self._evaluator()
        expected = Expected(subject, self.arrays, self.numerics, self.steps)
        for at, plan in enumerate(PLANS):
            start = [values.reshape(-1) for values in self.start[at]]
            results = [values.reshape(-1) for values in self.expected[at]]
            needed = self._needed(at)
            loose = expected.loose(start, results, plan, needed)
            slack = expected.slack(start, results, plan, needed)
            for ours, found in ((self._loose[at], loose), (self._slack[at], slack)):
                for to, values in zip(ours, found, strict=True):
                    to[...] = values.reshape(to.shape)
        return True

    def _evaluator(self) -> tuple[Evaluator | None, str]:
        compiler = cc.find_compiler()
        if compiler is None:
            return None, cc.NO_COMPILER
        try:
            writer = Writer(self.subject.func, self.subject.symbols)
            library = cc.plain_library(compiler, writer.text())
        except NotEvaluated as unknown:
            return None, f"the evaluator does not know {unknown}"
        except cc.CompileFailed as failed:
            return None, f"the evaluator did not compile ({failed})"
        return Evaluator(library, skips=writer.skips), ""

    def _sampled_results(self, at: int, plan: Plan) -> tuple[list[np.ndarray], list[np.ndarray]]:
        assert self.subject.evaluator is not None
        start = self.arrays.start(plan, 0)
        results = [values.copy() for values in start]
        self.subject.evaluator.run(
            results, self.arrays.symbols(), self.arrays.scalars(plan), self._needed(at)
        )
        return start, results

    def _needed(self, plan: int) -> list[np.ndarray | None]:
        """Of which elements of each parameter the results are needed; None for all."""
        masks = [self._sample(plan, at) for at in range(len(self.subject.params))]
        return [None if mask is None else mask.reshape(-1).astype(np.uint8) for mask in masks]

    def _sample(self, plan: int, at: int) -> Any:
        """Which elements of an output are compared; None for all, or for an input."""
        if self.steps <= WHOLE_STEPS or self.subject.params[at].role == "in":
            return None
        shape = self.start[plan][at].shape
        rng = np.random.default_rng((PLANS[plan].seed, at))
        return rng.random(shape) < SAMPLE_STEPS / self.steps

    def _place(self, at: int, mask: Any, found: Difference) -> str:
        flat = found.first[0]
        if mask is not None:
            flat = int(np.flatnonzero(mask)[flat])
        index = np.unravel_index(flat, self.start[0][at].shape)
        return ", ".join(str(int(part)) for part in index)
