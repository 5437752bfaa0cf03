"""One function on trial: built, run in several orders on several inputs, compared, judged."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tvm import ir
from tvm.target import Target as TvmTarget

from explorer.analysis.limits import limits_of
from explorer.emulator import compiler as cc
from explorer.emulator.machine import Limits, Machine
from explorer.emulator.text import Unsupported
from explorer.emulator.translate import translate
from explorer.engine.evaluator import NotEvaluated, Writer
from explorer.engine.hosted import Hosted
from explorer.engine.inputs import params_of, scalars_of
from explorer.engine.instance import Instance
from explorer.engine.lower import lower
from explorer.engine.reference import Evaluator, llvm_or_none
from explorer.engine.setting import Setting, symbols_of
from explorer.engine.sizes import size_sets
from explorer.engine.verdict import Words, worse
from explorer.model.result import Check
from explorer.model.target import Target

BUDGET_S = 2.0
"""Processor time for the runs of one function; what is not reached is left out and not claimed."""


class Trial:
    """Lives in a process of its own, for one function."""

    def __init__(
        self,
        original: ir.IRModule,
        scheduled: ir.IRModule,
        name: str,
        target: Target,
        made: TvmTarget,
        compiler: cc.Compiler,
        sizes: dict[str, int],
    ) -> None:
        self.original = original
        self.scheduled = scheduled
        self.name = name
        self.target = target
        self.made = made
        self.compiler = compiler
        self.sizes = sizes

    def verdict(self) -> Check:
        """The verdict, whatever happens on the way."""
        try:
            return self._judge()
        except Unsupported as unknown:
            return _unchecked(f"The emulator does not know {unknown}.")
        except cc.CompileFailed as failed:
            return _unchecked(f"The emulator can't compile this kernel: {failed}.")
        except MemoryError as full:
            return _unchecked(f"Too large to run here: {full}.")

    def _judge(self) -> Check:
        lowered = lower(self.name, self.scheduled, self.made)
        if lowered.failure is not None:
            return _unchecked("Not built: TVM can't lower this function.")
        if lowered.host is None or lowered.host_module is None or not lowered.host.launches:
            return _unchecked("No kernel: nothing of this function runs on the GPU.")
        if lowered.host.touched:
            touched = ", ".join(lowered.host.touched)
            return _unchecked(
                f"Cannot run on a GPU: the host code itself reads or writes {touched}, which lies "
                "in GPU memory."
            )
        program = translate(lowered.source, self.target.arch)
        func = self.original[self.name]
        symbols = symbols_of(func)
        # The compiler's processes have one core, TVM's own work here the other.
        with ThreadPoolExecutor(2) as pool:
            kernels = pool.submit(cc.kernel_library, self.compiler, program.cpp)
            reference = pool.submit(self._evaluator, func, symbols)
            machine = Machine(self.compiler)
            hosted = Hosted(self.name, lowered.host_module, self.made)
            llvm = llvm_or_none(self.original, self.name)
            params, scalars = params_of(func), scalars_of(func)
            library = kernels.result()
            evaluator, no_reference = _settled(reference)
        words = Words(library, lowered.source)
        setting = Setting(
            machine=machine,
            call=hosted.load(library),
            func=func,
            params=params,
            scalars=scalars,
            symbols=symbols,
            evaluator=evaluator,
            llvm=llvm,
            no_reference=no_reference,
            limits=_limits(self.target),
            words=words,
            one_launch=len(lowered.host.launches) == 1 and not lowered.host.launches[0].loops,
        )
        for kernel, tags in lowered.launch_params.items():
            machine.launch_params(kernel, tags)
        return self._runs(setting)

    def _evaluator(self, func: Any, symbols: list[Any]) -> Evaluator:
        writer = Writer(func, symbols)
        return Evaluator(cc.plain_library(self.compiler, writer.text()), skips=writer.skips)

    def _runs(self, setting: Setting) -> Check:
        """All sizes until something is wrong or the time is up."""
        deadline = time.process_time() + BUDGET_S
        worst: Check | None = None
        impossible: Check | None = None
        covered: list[str] = []
        notes: list[str] = []
        largest = 0.0
        for number, (sizes, required) in enumerate(size_sets(setting, self.sizes)):
            if number and time.process_time() > deadline:
                break
            instance = Instance(setting, sizes)
            outcome = instance.run(deadline, least=2 if number == 0 else 1)
            if outcome.check.status == "not_checked" and not required:
                impossible = impossible or outcome.check
                notes += [outcome.note] if outcome.note else []
                continue
            worst = worse(worst, outcome.check)
            covered.append(outcome.check.covered)
            largest = max(largest, outcome.check.max_error or 0.0)
            if worst.status != "match":
                break
        worst = worst or impossible
        assert worst is not None
        detail = " ".join([worst.detail, *dict.fromkeys(notes)])
        if worst.status != "match":
            return Check(status=worst.status, detail=detail, covered=worst.covered,
                         max_error=worst.max_error)  # fmt: skip
        return Check(status="match", detail=detail, covered="; ".join(covered), max_error=largest)


def _unchecked(detail: str) -> Check:
    return Check(status="not_checked", detail=detail)


def _settled(future: Future[Evaluator]) -> tuple[Evaluator | None, str]:
    """The evaluator, or why there is none."""
    try:
        return future.result(), ""
    except NotEvaluated as unknown:
        return None, f"the evaluator does not know {unknown}"
    except cc.CompileFailed as failed:
        return None, f"the evaluator did not compile ({failed})"


def _limits(target: Target) -> Limits:
    return Limits(
        max_threads=target.max_threads_per_block,
        static_shared_bytes=49152,
        shared_bytes=limits_of(target.arch).shared_per_block_bytes,
    )
