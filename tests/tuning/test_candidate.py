"""Candidates as steps: the program that was tried, or as far as one came that was not."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from tvm import s_tir
from tvm_ffi import structural_equal

from explorer import workbench
from explorer.engine.replay import replay
from explorer.engine.targets import cuda_tags
from explorer.engine.trace import plain
from explorer.engine.tuning.candidate import candidate
from explorer.engine.tuning.importing import import_records
from explorer.engine.tuning.space import Rejected, Space
from explorer.engine.warm import warm
from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.model.refs import BlockRef
from explorer.model.view import Proposal
from explorer.primitives import STEPS
from explorer.targets import resolve
from explorer.tuning.events import Candidate
from explorer.tuning.folder import Folder
from explorer.tuning.job import Task, TuneJob
from tests.tuning import databases
from tests.tuning.databases import LLVM, matmul

SOURCE = Source(matmul("gemm"))
TAG = "nvidia/geforce-rtx-4090"


class Tried:
    """A job's folder with candidates told as a search would, and the schedules that they were."""

    def __init__(self, path: Path, job: TuneJob) -> None:
        self.folder, self.job = Folder(path), job
        self.folder.create(job)
        warm()
        function = job.tasks[0].function
        start = replay(job.source, job.steps).live.mod
        target = resolve(job.target, cuda_tags())
        self.space = Space(start, function, target, job)
        for design in self.space.designs:
            self.folder.tell(design)

    def sampled(self, id: int, fate: str) -> s_tir.Schedule:
        """Tell of the first sample that comes to that end; returns how far it came."""
        for seed in range(1, 200):
            design = self.space.designs[seed % len(self.space.designs)].number
            sch = self.space.sample(design, seed)
            gene, by, reason = self.space.gene_of(design, sch.trace), "", ""
            try:
                self.space.postprocess(sch)
            except Rejected as refused:
                by, reason = refused.by, refused.reason
            if bool(by) == (fate == "rejected"):
                self.tell(id, fate, design, gene.decisions, gene.trace, by, reason)
                return sch
        raise AssertionError(fate)

    def tell(
        self, id: int, fate: str, design: int, decisions: tuple = (), trace: str = "",
        by: str = "", reason: str = "",
    ) -> None:  # fmt: skip
        self.folder.tell(
            Candidate(
                at=time.time(), id=id, function=self.space.function, fate=fate, design=design,
                decisions=decisions, trace=trace, by=by, reason=reason,
                us=12.0 if fate == "measured" else None,
            )
        )  # fmt: skip

    def again(self, id: int) -> tuple[Proposal, s_tir.Schedule]:
        """The candidate, and its steps replayed behind the job's."""
        proposal = candidate(str(self.folder.path), id)
        done = replay(self.job.source, (*self.job.steps, *workbench.steps_of(proposal)))
        assert not done.refusals
        return proposal, done.live.sch


def job(target: str, function: str = "gemm", **more: object) -> TuneJob:
    runner = "llvm" if target == "llvm" else "static"
    tasks = (Task(function),)
    return TuneJob(**{"source": SOURCE, "target": target, "tasks": tasks, "runner": runner, **more})


@pytest.fixture(scope="module", params=["llvm", TAG])
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    return Tried(tmp_path_factory.mktemp("job"), job(request.param))


def same(one: s_tir.Schedule, function: str, other: s_tir.Schedule) -> bool:
    return structural_equal(one.mod[function].body, other.mod["main"].body, map_free_vars=True)


def test_a_measured_candidate_is_the_program_that_was_tried(tried: Tried) -> None:
    sch = tried.sampled(1, "measured")
    proposal, again = tried.again(1)
    assert proposal.manual
    assert proposal.note == ""
    assert same(again, "gemm", sch)
    assert {each.function for each in proposal.outcomes} == {"gemm"}


def test_one_that_needs_its_whole_trace_is_made_again_too(tried: Tried) -> None:
    design = tried.space.designs[0].number
    sch = tried.space.sample(design, 5)
    trace = json.dumps(plain(sch.trace.as_json()))
    tried.tell(2, "passed_over", design, (), trace, "the cost model", "Others promised more.")
    with contextlib.suppress(Rejected):
        tried.space.postprocess(sch)
    proposal, again = tried.again(2)
    assert proposal.note == "It ended as passed over (the cost model): Others promised more."
    assert same(again, "gemm", sch)


def test_a_later_word_on_a_candidate_counts(tried: Tried) -> None:
    tried.sampled(3, "measured")
    sch = tried.sampled(3, "measured")
    assert same(tried.again(3)[1], "gemm", sch)


def test_there_must_be_such_a_candidate(tried: Tried, tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="no candidate 77"):
        candidate(str(tried.folder.path), 77)
    with pytest.raises(ExperimentError, match="holds no tuning job"):
        candidate(str(tmp_path), 1)


def test_a_rejected_one_shows_how_far_it_came(tmp_path: Path) -> None:
    tried = Tried(tmp_path, job(TAG))
    sch = tried.sampled(1, "rejected")
    proposal, again = tried.again(1)
    assert proposal.note.startswith("It ended as rejected (VerifyGPUCode): ")
    assert same(again, "gemm", sch)
    assert proposal.steps


def test_a_decision_that_does_not_apply_ends_where_it_is(tmp_path: Path) -> None:
    tried = Tried(tmp_path, job("llvm"))
    tried.sampled(1, "measured")
    design = tried.space.designs[0]
    at = next(each.at for each in design.decisions if each.candidates)
    first, second, third = [each.at for each in design.decisions if each.parts]
    wrong = ((first, (1, 1, 1, 64)), (second, (1, 1, 1, 64)), (third, (1, 32)), (at, 99))
    tried.tell(2, "rejected", design.number, wrong, by="the decisions", reason="It does not apply.")
    proposal = candidate(str(tmp_path), 2)
    assert "the decisions" in proposal.note
    assert proposal.refusal is not None
    assert [each["op"] for each in proposal.steps].count("split") == 3


def test_the_steps_of_the_job_come_first(tmp_path: Path) -> None:
    block = BlockRef("C", 0, "gemm")
    steps = (STEPS["cache_read"](block=block, read_buffer_index=0, storage_scope="global"),)
    tried = Tried(tmp_path, job("llvm", steps=steps))
    sch = tried.sampled(1, "measured")
    proposal, again = tried.again(1)
    assert proposal.manual
    assert same(again, "gemm", sch)


def test_an_imported_record_is_a_candidate(tmp_path: Path) -> None:
    ((*made,),) = databases.write(tmp_path / "theirs", [matmul()], LLVM, 2)
    other = Source(matmul("gemm").replace('"C"', '"product"'))
    into = tmp_path / "job"
    into.mkdir()
    taken = import_records(str(tmp_path / "theirs"), str(into), other)
    Folder(into).create(job("llvm", source=other, function=taken.functions[0]))
    for id, sch in enumerate(made, start=1):
        proposal = candidate(str(into), id)
        assert proposal.manual, proposal.note
        done = replay(other, workbench.steps_of(proposal))
        assert same(done.live.sch, "gemm", sch)
