"""The design space of one function: the designs that TVM's rules make, and schedules out of them.

A candidate is a design and values for its decisions (a `Gene`); postprocessing then makes it a
program, or refuses it.  Everything here is a function of its arguments: no clock, no shared
random state.
"""

from __future__ import annotations

import json
import os
from typing import Any

import msgspec
import tvm_ffi
from tvm import error, ir, s_tir, tirx
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule import _ffi_api
from tvm.target import Target as TvmTarget

from explorer.engine.lower import called
from explorer.engine.setting import symbols_of
from explorer.engine.targets import tvm_target
from explorer.engine.trace import plain
from explorer.engine.tuning.orders import Decisions, Gene, Value
from explorer.engine.tuning.refusals import said, why, wrong_threads
from explorer.engine.tuning.rules import Rules
from explorer.engine.tuning.seeds import seed_of
from explorer.engine.tuning.steering import Rudder
from explorer.engine.tuning.threads import Threads
from explorer.engine.tuning.words import distinct, told
from explorer.errors import UserError
from explorer.model.target import Target
from explorer.tuning.events import Design
from explorer.tuning.job import Steering, TuneJob

TVM_REFUSES = (
    s_tir.ScheduleError, error.InternalError, ValueError, TypeError, IndexError, KeyError,
)  # fmt: skip
"""What TVM raises where instructions or a postprocessor do not apply."""


class Rejected(Exception):
    """A candidate that did not become a program: `by` refused it, `reason` is a sentence.

    `gene` is as far as it was decided, where the order did not say.
    """

    def __init__(self, by: str, reason: str, gene: Gene | None = None) -> None:
        super().__init__(reason)
        self.by = by
        self.reason = reason
        self.gene = gene


class Space:
    """What can be sampled for one function.  Made once; forked processes inherit it."""

    def __init__(
        self,
        mod: ir.IRModule,
        function: str,
        target: Target,
        job: TuneJob,
        known: tuple[Design, ...] = (),
        steering: Steering | None = None,
    ) -> None:
        """`mod` is the module after the job's steps.

        `known` are designs told earlier (before a resume or other steering): they keep their
        numbers and can be scheduled, whether the rules make them now or not.  `steering` replaces
        the job's.  Raises UserError when there is nothing to search.
        """
        self.function = function
        self.job = job
        self._mod = mod
        self.steering = steering or job.steering
        self.workload = _workload(mod, function)
        self.target = search_target(target)
        rules = self.steering
        self._rules = Rules(self.workload, self.target, rules.without_rules, rules.with_rules)
        self.rules = self._rules.names
        self._features = ms.feature_extractor.PerStoreFeature()
        self._instructions: dict[int, list[Any]] = {}
        self._sampled: dict[int, tuple[int, ...]] = {}
        self._threads: dict[int, Threads] = {}
        self.designs = self._designs(known)
        self.rudder = Rudder(function, self.steering, self.designs)

    # Schedules

    def schedule(self, design: int, decisions: Decisions, trace: str = "") -> s_tir.Schedule:
        """The program of a candidate, with its whole trace.  Raises Rejected."""
        sch = self.replay(Gene(design, decisions, trace))
        self.postprocess(sch)
        return sch

    def sample(self, design: int, seed: int) -> s_tir.Schedule:
        """A design with decisions at random, but for pinned ones.  Raises Rejected."""
        pinned = self.rudder.pinned(design)
        threads = self._threads.get(design)
        fixed = (threads.draw(seed, pinned) if threads else ()) or pinned
        return self._apply(design, self._with(Gene(design, fixed)), seed)

    def replay(self, gene: Gene) -> s_tir.Schedule:
        """A candidate before postprocessing.  Raises Rejected."""
        if not gene.trace:
            return self._apply(gene.design, self._with(gene), 1)
        sch = self._new(1)
        try:
            s_tir.Trace.apply_json_to_schedule(json.loads(gene.trace), sch)
        except TVM_REFUSES as failure:
            raise Rejected("the trace", said(failure), gene) from failure
        return sch

    def mutate(self, gene: Gene, mutator: Any, seed: int) -> Gene | None:
        """A candidate that differs a little; None where there is nothing that `mutator` changes."""
        try:
            before = self.replay(gene).trace if gene.trace else self._with(gene)
        except Rejected:
            return None
        after = _ffi_api.MutatorApply(mutator, before, seed)
        return None if after is None else self.gene_of(gene.design, after)

    def seed(self, name: str) -> Gene:
        """The candidate that a variant of the steering's seeds is.  Raises Rejected."""
        first = self.job.steps
        for known, function, steps in self.steering.seeds:
            if known != name or function != self.function:
                continue
            if steps[: len(first)] != first:
                raise Rejected("steering", f"{name} does not begin with the steps of the job.")
            found = seed_of(self._mod, function, steps[len(first) :], self.designs)
            if isinstance(found, Gene):
                return found
            raise Rejected("steering", found)
        raise Rejected("steering", f"There is no seed {name} for {self.function}.")

    def postprocess(self, sch: s_tir.Schedule) -> None:
        """Make a sampled schedule a program, in place.  Raises Rejected."""
        if self.target.kind.name == "cuda":
            wrong = wrong_threads(sch)  # it would be found later, at ten times the cost
            if wrong:
                raise Rejected("VerifyGPUCode", wrong)
        sch.enter_postproc()
        for each in self._rules.postprocs:
            name = type(each).__name__
            try:
                fine = each.apply(sch)
            except TVM_REFUSES as failure:
                raise Rejected(name, said(failure)) from failure
            if not fine:
                raise Rejected(name, why(name, sch, self.target))

    # What is known of a schedule

    @property
    def mutators(self) -> dict[Any, float]:
        """TVM's mutators with how often each should be used."""
        return self._rules.mutators

    def decided(self, design: int, trace: s_tir.Trace) -> Decisions:
        """The decisions of a trace of a design, as far as it goes."""
        instructions = list(trace.insts)
        return tuple(
            (at, value_of(trace.get_decision(instructions[at])))
            for at in self._sampled[design] if at < len(instructions)
        )  # fmt: skip

    def gene_of(self, design: int, trace: s_tir.Trace) -> Gene:
        """What makes a trace of a design: its JSON too where more than decisions was changed."""
        decisions = self.decided(design, trace)
        own = self._instructions[design]
        if all(a.same_as(b) for a, b in zip(own, trace.insts, strict=False)):
            return Gene(design, decisions)
        data = plain(trace.as_json(True))
        if data[0] == json.loads(self._text[design])[0]:
            return Gene(design, decisions)
        return Gene(design, decisions, json.dumps(data))

    def features(self, sch: s_tir.Schedule) -> Any:
        """TVM's features of a program: a row of 164 numbers for each of its stores."""
        candidate = ms.MeasureCandidate(sch, [])
        return self._features.extract_from(self._rules.context, [candidate])[0].numpy()

    # Making it

    def _designs(self, known: tuple[Design, ...]) -> tuple[Design, ...]:
        mine = [each for each in known if each.function == self.function]
        self._text = {each.number: each.trace for each in mine}
        number_of = {each.trace: each.number for each in mine}
        for each in mine:
            self._keep(each.number, self._read(each.trace))
        try:
            found = self._rules.designs()
        except TVM_REFUSES as failure:
            raise UserError(
                f"TVM's schedule rules can't work on {self.function}.",
                said(failure),
                "Schedule a part of it by hand first, or leave a rule out.",
                details=str(failure),
            ) from failure
        designs: dict[int, Design] = {}
        does: dict[str, dict[int, tuple[str, ...]]] = {}
        for trace in found:
            text = json.dumps([plain(trace.as_json())[0], []])
            number = number_of.setdefault(text, max(self._text, default=-1) + 1)
            self._text[number] = text
            self._keep(number, trace)
            if self.target.kind.name == "cuda":
                example = self.decided(number, trace)
                self._threads[number] = Threads(json.loads(text)[0], example)
            words = ", ".join(self._rules.made(trace))
            decisions, does.setdefault(words, {})[number] = told(self.workload, trace)
            designs[number] = Design(
                function=self.function, number=number, trace=text, rule=words, decisions=decisions
            )
        for words, alike in does.items():
            for number, own in distinct(alike).items():
                designs[number] = msgspec.structs.replace(designs[number], rule=f"{words}: {own}")
        if not any(self._changes(number) for number in designs):
            raise UserError(
                f"There is nothing left to decide in {self.function}.",
                f"Of the rules {', '.join(self.rules)} none applies to what it has.",
                "Start from fewer steps, or leave fewer rules out.",
            )
        return tuple(designs[number] for number in sorted(designs))

    def _keep(self, number: int, trace: s_tir.Trace) -> None:
        self._instructions[number] = list(trace.insts)
        self._sampled[number] = tuple(
            at for at, each in enumerate(trace.insts) if each.kind.name.startswith("Sample")
        )

    def _read(self, text: str) -> s_tir.Trace:
        """A trace from its JSON.  TVM reads one only while it performs it: with any decisions."""
        sch = self._new(1)
        s_tir.Trace.apply_json_to_schedule(json.loads(text), sch)
        return sch.trace

    def _changes(self, number: int) -> bool:
        """A design says more than where blocks are."""
        return any(not e.kind.name.startswith("Get") for e in self._instructions[number])

    def _with(self, gene: Gene) -> s_tir.Trace:
        instructions = self._instructions[gene.design]
        chosen = {
            instructions[at]: list(value) if isinstance(value, tuple) else value
            for at, value in gene.decisions
        }
        return s_tir.Trace(instructions, chosen)

    def _new(self, seed: int) -> s_tir.Schedule:
        return s_tir.Schedule(self.workload, seed=seed, error_render_level="fast")

    def _apply(self, design: int, trace: s_tir.Trace, seed: int) -> s_tir.Schedule:
        sch = self._new(seed)
        try:
            trace.apply_to_schedule(sch, True)
        except TVM_REFUSES as failure:
            gene = Gene(design, self.decided(design, sch.trace))
            raise Rejected("the decisions", said(failure), gene) from failure
        return sch


def digest(sch: s_tir.Schedule) -> str:
    """The same for programs that are the same but for names of variables."""
    return f"{tvm_ffi.structural_hash(sch.mod) & (2**64 - 1):016x}"


def search_target(target: Target) -> TvmTarget:
    """The target as TVM's rules need it: with the number of cores for llvm."""
    if target.kind == "llvm":
        return TvmTarget({"kind": "llvm", "num-cores": len(os.sched_getaffinity(0))})
    return tvm_target(target)


def _workload(mod: ir.IRModule, function: str) -> ir.IRModule:
    """The function as TVM's database keeps it: alone, called "main".  Raises UserError."""
    names = [var.name_hint for var in mod.get_global_vars()]
    if function not in names:
        raise UserError(f"There is no function {function}.", f"There are: {', '.join(names)}.")
    func = mod[function]
    if not isinstance(func, tirx.PrimFunc):
        raise UserError(f"{function} is no PrimFunc.", "Only these can be scheduled.")
    attrs = func.attrs or {}
    if attrs.get("tirx.is_scheduled"):
        raise UserError(
            f"{function} says that it is scheduled already (tirx.is_scheduled).",
            "There is nothing to search for.",
            "Take the attribute away if it should be tuned.",
        )
    if called(mod, func):
        raise UserError(
            f"{function} calls other functions of the module.",
            "TVM's rules schedule one function at a time.",
            f"Tune {', '.join(called(mod, func))} alone.",
        )
    symbols = ", ".join(str(symbol.name) for symbol in symbols_of(func))
    if symbols:
        raise UserError(
            f"{function} has symbolic sizes: {symbols}.",
            "Tiles are sampled as divisors of a size, so tuning needs fixed ones.",
            "Write the sizes as numbers in a copy of the function, and tune that.",
        )
    if not _has_blocks(func):
        raise UserError(
            f"{function} has no blocks (T.sblock), so there is nothing TVM's rules could move.",
            do="Write the computation as blocks.",
        )
    if "global_symbol" not in attrs:
        func = func.with_attr("global_symbol", "main")
    # tune_tir says so of every function, and finds a workload by that, too.
    return ir.IRModule({"main": func.with_attr("tirx.noalias", True)})


def _has_blocks(func: tirx.PrimFunc) -> bool:
    found: list[Any] = []
    tvm_ffi.structural_walk(func.body, (s_tir.SBlock, found.append))
    return any(block.name_hint != "root" for block in found)


def value_of(decision: Any) -> Value:
    """A decision of a trace as a plain value."""
    value = plain(decision)
    if isinstance(value, (list, tuple)) or hasattr(value, "__len__"):
        return tuple(int(each) for each in value)
    return int(value)
