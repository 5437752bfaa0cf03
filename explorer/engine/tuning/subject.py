"""What a tuning job is about, found out before any hand is forked, so that all of them share it."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import ir

from explorer.engine import nvrtc
from explorer.engine.load import module
from explorer.engine.race_material import Material
from explorer.engine.replay import replay
from explorer.engine.targets import cuda_tags
from explorer.engine.tuning.space import Space
from explorer.errors import Refusal, TargetError, UserError
from explorer.model.target import Target
from explorer.runners import RUNNERS, Place, Runner
from explorer.targets import resolve
from explorer.tuning.events import Design
from explorer.tuning.job import Steering, TuneJob

_RUNNERS = {"llvm": "llvm", "cuda": "local_cuda", "rpc": "rpc"}


@dataclass
class Subject:
    """One function: its space, and what it is measured on (None where nothing is measured)."""

    function: str
    space: Space
    material: Material | None


class Job:
    """The job's module, target and devices.  Making it raises UserError for what can't be tuned."""

    def __init__(self, job: TuneJob) -> None:
        self.job = job
        self.original: ir.IRModule = module(job.source)
        done = replay(job.source, job.steps)
        if done.refusals:
            raise UserError("A step of the job does not apply.", done.refusals[0].sentence())
        self.start: ir.IRModule = done.live.mod
        self.target: Target = resolve(job.target, cuda_tags())
        self.runner, self.places = _devices(job, self.target)
        self.rivals = dict(job.rivals)

    @property
    def measures(self) -> bool:
        """Candidates are timed; else they are ranked by prediction."""
        return self.runner is not None

    @property
    def remote(self) -> bool:
        """The device is another machine's: modules go there as files."""
        return self.runner is not None and self.runner.NAME == "rpc"

    @property
    def quiet(self) -> bool:
        """What else this machine does disturbs the times."""
        return self.runner is not None and self.runner.NAME == "llvm"

    def subject(
        self, function: str, known: tuple[Design, ...], steering: Steering | None
    ) -> Subject:
        """What is needed to tune one function.  Raises UserError."""
        space = Space(self.start, function, self.target, self.job, known, steering)
        material = None
        if self.measures:
            material = Material(self.original, function, self.job.sizes)
            material.fill(1)
        return Subject(function, space, material)

    def steered(self, subject: Subject, known: tuple[Design, ...], steering: Steering) -> Subject:
        """The same function with another steering.  Raises UserError."""
        space = Space(self.start, subject.function, self.target, self.job, known, steering)
        return Subject(subject.function, space, subject.material)


def _devices(job: TuneJob, target: Target) -> tuple[Runner | None, tuple[Place, ...]]:
    if job.runner == "static":
        if target.kind != "cuda":
            raise TargetError(
                f"Nothing can be predicted for {target.tag}.",
                "The static model is about CUDA kernels.",
                'Choose the runner "llvm", which measures, or a CUDA target.',
            )
        nvrtc.version()  # without it nothing is predicted
        return None, ()
    runner = RUNNERS[_RUNNERS[job.runner]]
    refusal = runner.can_run(target)
    places = runner.places(job.where, target) if refusal is None else refusal
    if isinstance(places, Refusal):
        raise UserError(places.what, places.why, places.do, details=places.details)
    return runner, places
