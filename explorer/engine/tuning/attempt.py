"""What a hand does: make, build, run and judge candidates of the job it was forked with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tvm_ffi
from tvm import ir, s_tir
from tvm.s_tir import meta_schedule as ms

from explorer.engine import race_build
from explorer.engine.build_llvm import not_for_processor
from explorer.engine.extract import nest_of
from explorer.engine.failures import sentence
from explorer.engine.lower import LOWERING_ERRORS, only
from explorer.engine.race_line import Order as Turn
from explorer.engine.race_line import unlimited_data
from explorer.engine.race_material import Material
from explorer.engine.race_track import Track
from explorer.engine.trace import plain
from explorer.engine.tuning import finals
from explorer.engine.tuning.maker import make
from explorer.engine.tuning.measure import measure
from explorer.engine.tuning.orders import Gene
from explorer.engine.tuning.space import Rejected
from explorer.engine.tuning.static import predict
from explorer.engine.tuning.subject import Job, Subject
from explorer.engine.tuning.talk import (
    Answer,
    Build,
    Built,
    Connect,
    Connected,
    Crafted,
    Emulate,
    Final,
    Make,
    Order,
    Prove,
    Proved,
    Ran,
    Refer,
    Referred,
    Run,
)
from explorer.errors import ToolMissing
from explorer.experiment import Variant
from explorer.runners import Connection, Unreachable

SESSION_S = 86400.0
"""After this a server ends a session by itself."""
NO_TRIPLE = (
    "The server can't tell its processor (its TVM has no LLVM), so the host code can't be built "
    "for it: give its LLVM triple."
)


class Attempts:
    """The work of one hand."""

    def __init__(self, job: Job, subjects: Mapping[str, Subject]) -> None:
        self.job = job
        self.subjects = subjects
        self.built: dict[int, Any] = {}
        self.connection: Connection | None = None
        self.tracks: dict[str, Track] = {}

    def __call__(self, order: Order) -> Answer:
        """Do it.  An error that is not expected here is a `Broken` of the hand."""
        match order:
            case Make():
                return Crafted(make(self.subjects[order.function].space, order.wanted))
            case Build():
                return self._build(order)
            case Connect():
                return self._connect(order)
            case Run():
                return self._run(order)
            case Prove():
                outputs = self.tracks[order.function].outputs
                wrong = outputs.wrong_by_now(order.id)
                if wrong and not self._material(order.function).weighed:
                    self._material(order.function).weigh()
                    wrong = outputs.wrong_by_now(order.id)
                outputs.forget(order.id)
                return Proved(wrong)
            case Refer():
                return Referred(self._material(order.function).make_reference())
            case Final():
                return finals.race(self, order)
            case Emulate():
                return finals.emulate(self, order)

    # Building

    def _build(self, order: Build) -> Built:
        began = time.monotonic()
        built = self._made(order)
        return msgspec.structs.replace(built, build_s=time.monotonic() - began)

    def _made(self, order: Build) -> Built:
        subject, record = self.subjects[order.function], ""
        if order.gene is None:
            mod = self.rival(order.function, order.rival)
            if isinstance(mod, str):
                return Built(reason=mod, by="the explorer")
        else:
            try:
                mod, record = self.candidate(subject, order.gene)
            except Rejected as rejected:
                return Built(reason=rejected.reason, by=rejected.by)
        predicted_us = None
        if self.job.target.kind == "cuda":
            # Its own word on launch limits and NVRTC's on the text come with the prediction.
            try:
                word = predict(mod, order.function, self.job.target, self.job.job.sizes)
            except ToolMissing as missing:
                return Built(reason=str(missing), by="NVRTC")
            if word.us is None:
                return Built(reason=word.refused, by=word.by)
            predicted_us = word.us
        if self.job.measures:
            try:
                built = self.compiled(mod, order.triple)
                if order.file:
                    race_build.export(
                        built, Path(order.file).parent, Path(order.file).stem,
                        link=order.file.endswith(".so"),
                    )  # fmt: skip
                else:
                    self.built[order.id] = built
            except LOWERING_ERRORS as failure:
                by = "LLVM" if "LLVM" in str(failure) else "TVM"
                return Built(reason=self._why(mod, failure), by=by)
        return Built(record=record if self.job.measures else "", predicted_us=predicted_us)

    def candidate(self, subject: Subject, gene: Gene) -> tuple[ir.IRModule, str]:
        """The module of a candidate, its function under its own name, and TVM's record of it.

        Raises Rejected.
        """
        sch = subject.space.schedule(gene.design, gene.decisions, gene.trace)
        func = sch.mod["main"].with_attr("global_symbol", subject.function)
        return ir.IRModule({subject.function: func}), _record(subject, sch.trace)

    def rival(self, function: str, name: str) -> ir.IRModule | str:
        """The module of a rival, or why there is none."""
        job = self.job
        steps = job.rivals[name]
        starters = race_build.starters(
            job.job.source, (Variant(name, steps),), job.target, job.job.sizes, function
        )
        starter = starters[function][0]
        return starter.reason if starter.mod is None else only(starter.mod, function)

    def compiled(self, mod: ir.IRModule, triple: str) -> Any:
        """The runtime module.  Raises one of LOWERING_ERRORS."""
        return race_build.runtime_module(mod, self.job.target, triple)

    def _why(self, mod: ir.IRModule, failure: Exception) -> str:
        """Why TVM can't build it, in one sentence."""
        (function,) = nest_of(mod, mod.script()).functions
        if self.job.target.kind == "llvm":
            return not_for_processor(function, failure)
        return sentence(function, failure)

    # Running

    def _connect(self, order: Connect) -> Connected:
        runner, place = self.job.runner, self.job.places[order.place]
        assert runner is not None
        if runner.NAME == "local_cuda":
            unlimited_data()
        try:
            found = runner.connect(place, self.job.job.where, SESSION_S, lambda device: None)
        except Unreachable as why:
            return Connected(failed=str(why))
        self.connection, self.tracks = found, {}
        if not self.job.remote:
            return Connected()
        own = str(tvm_ffi.get_global_func("target.llvm_get_system_triple")())
        triple = self.job.job.where.host_triple or found.triple
        if not triple:
            return Connected(failed=NO_TRIPLE)
        return Connected(
            triple="" if triple == own else triple, link=race_build.can_link(triple, own)
        )

    def _run(self, order: Run) -> Ran:
        track = self._track(order.function)
        if order.file:
            track.load(Turn("load", order.id, order.file))
        else:
            track.loaded[order.id] = track.connection.load(self.built[order.id])
        ran = measure(track, order.id)
        if ran.wrong and track.material.has_reference and not track.material.weighed:
            track.material.weigh()
            ran = measure(track, order.id)
        del track.loaded[order.id]
        self.built.pop(order.id, None)
        proved = bool(ran.wrong) or track.outputs.proved(order.id)
        if proved:
            track.outputs.forget(order.id)
        return msgspec.structs.replace(ran, proved=proved)

    def _track(self, function: str) -> Track:
        if function not in self.tracks:
            assert self.connection is not None
            self.tracks[function] = Track(
                self.connection, self._material(function), self.built.__getitem__
            )
        return self.tracks[function]

    def _material(self, function: str) -> Material:
        material = self.subjects[function].material
        assert material is not None
        return material


def _record(subject: Subject, trace: s_tir.Trace) -> str:
    """TVM's tuning record without times, as JSON."""
    space = subject.space
    record = ms.database.TuningRecord(
        trace, ms.database.Workload(space.workload), None, space.target,
        ms.arg_info.ArgInfo.from_prim_func(space.workload["main"]),
    )  # fmt: skip
    return json.dumps(plain(record.as_json()))
