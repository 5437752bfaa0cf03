"""A candidate of a tuning job as steps: made again as it was made, however far it came."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec
from tvm import ir

from explorer.engine.live import Live
from explorer.engine.replay import replay
from explorer.engine.targets import cuda_tags
from explorer.engine.trace import plain
from explorer.engine.tuning.database import Files
from explorer.engine.tuning.orders import Gene
from explorer.engine.tuning.performed import Performed, performed
from explorer.engine.tuning.records import load_workloads, only_function
from explorer.engine.tuning.same import same
from explorer.engine.tuning.space import Rejected, Space
from explorer.engine.warm import warm
from explorer.errors import ExperimentError
from explorer.model.view import Proposal
from explorer.targets import resolve
from explorer.tuning.events import Candidate, Design
from explorer.tuning.folder import Folder, Reader
from explorer.tuning.job import TuneJob

KEPT_SPACES = 8
_spaces: OrderedDict[bytes, Space] = OrderedDict()


def candidate(path: str, id: int) -> Proposal:
    """The steps of candidate `id` of the job at `path`, to be put behind the job's own steps.

    One that was rejected has the steps up to there, and `note` says by what and why.  Raises
    ExperimentError when there is no such job or candidate.
    """
    folder = Folder(Path(path))
    job = folder.job()
    found, designs = _told(folder, id)
    live = replay(job.source, job.steps).live
    if found.trace and "EnterPostproc" in found.trace:  # a record's: whole as it is
        trace = msgspec.json.decode(found.trace)
        done = performed(live, found.function, trace, _tuned(folder, live, found.function))
    else:
        done = _made_again(_space(folder, job, live, found.function, designs), live, found)
    by = f" ({found.by})" if found.by else ""
    why = f"It ended as {found.fate.replace('_', ' ')}{by}: {found.reason}" if found.reason else ""
    return done.proposal(f"candidate {id}", found.function, why)


def _told(folder: Folder, id: int) -> tuple[Candidate, tuple[Design, ...]]:
    """The candidate as last told, and the designs of its function."""
    found: Candidate | None = None
    designs: dict[tuple[str, int], Design] = {}
    for event in Reader(folder).news():
        if isinstance(event, Candidate) and event.id == id:
            found = event
        elif isinstance(event, Design):
            designs[event.function, event.number] = event
    if found is None:
        raise ExperimentError(f"The job has no candidate {id}.", do="Pick one from its list.")
    return found, tuple(each for each in designs.values() if each.function == found.function)


def _made_again(space: Space, live: Live, found: Candidate) -> Performed:
    """The whole trace, postprocessing included, as far as it goes."""
    try:
        sch = space.replay(Gene(found.design, found.decisions, found.trace))
    except Rejected:  # a decision does not apply: as far as the trace itself goes
        trace = _undone(space, found)
        return performed(live, found.function, trace, space.workload)
    refused: Rejected | None = None
    try:
        space.postprocess(sch)
    except Rejected as error:
        refused = error
    trace = plain(sch.trace.as_json())
    done = performed(live, found.function, trace, space.workload, sch.mod)
    if refused is not None and not found.reason:
        return done.noted(f"Today {refused.by} refuses it: {refused.reason}")
    return done


def _undone(space: Space, found: Candidate) -> list[Any]:
    """The trace that was to be performed."""
    if found.trace:
        return list(msgspec.json.decode(found.trace))
    design = next(each for each in space.designs if each.number == found.design)
    return [msgspec.json.decode(design.trace)[0], [list(each) for each in found.decisions]]


def _tuned(folder: Folder, live: Live, function: str) -> ir.IRModule:
    """What the records in the folder were tuned for, under its own names."""
    func = live.mod[function]
    try:
        workloads = load_workloads(Files(folder.path))
    except ExperimentError:
        workloads = []
    alike = (mod for mod in workloads if mod is not None and same(only_function(mod), func))
    return next(alike, ir.IRModule({"main": func}))


def _space(
    folder: Folder, job: TuneJob, live: Live, function: str, designs: tuple[Design, ...]
) -> Space:
    """The space of the function, kept for the next candidate of the same job."""
    steering = folder.control().steering
    key = msgspec.json.encode((job, function, steering, [each.trace for each in designs]))
    if key not in _spaces:
        warm()  # TVM's rules import its intrinsics, which takes longer when they do
        target = resolve(job.target, cuda_tags())
        _spaces[key] = Space(live.mod, function, target, job, designs, steering)
        while len(_spaces) > KEPT_SPACES:
            _spaces.popitem(last=False)
    _spaces.move_to_end(key)
    return _spaces[key]
