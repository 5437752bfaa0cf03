"""What a search found, as a variant: the best of a job or database, or one by its number."""

from __future__ import annotations

import re
from pathlib import Path

from explorer import workbench
from explorer.errors import ExperimentError, UserError
from explorer.model.loaded import Source
from explorer.model.view import Proposal
from explorer.tuning.folder import Folder, Reader
from explorer.tuning.summary import Summary

Named = tuple[str, workbench.Steps]


def tuned(given: str, source: Source, function: str = "") -> Named:
    """A name and the steps for `D` or `D#N`: the best, or candidate N of a job, record N of a file.

    Raises ExperimentError when there is none, and what a trace that stops on the way says.
    """
    match = re.fullmatch(r"(.+?)(?:#(\d+))?", given, re.DOTALL)
    path, number = (Path(match[1]), match[2]) if match else (Path(given), None)
    if (path / "job.json").exists():
        return _of_job(path, number, function)
    return _of_database(path, number, source, function)


def _of_job(path: Path, number: str | None, function: str) -> Named:
    """A candidate behind the job's own steps; without a number the best of every function."""
    folder = Folder(path)
    job = folder.job()
    summary = Summary(job)
    summary.add(Reader(folder).news())
    ids = [int(number)] if number else []
    for task in job.tasks if not number else ():
        best = summary.best(task.function) if function in ("", task.function) else None
        ids += [best.id] if best is not None else []
    if not ids:
        raise ExperimentError(
            f"{path} has no candidate with a time.", "The search has found nothing yet.",
            "Let it run on, or name a candidate by its number.",
        )  # fmt: skip
    steps: workbench.Steps = job.steps
    for id in ids:
        steps += _steps(workbench.candidate(str(path.absolute()), id))
    return f"{path.name}#{'+'.join(str(id) for id in ids)}", steps


def _of_database(path: Path, number: str | None, source: Source, function: str) -> Named:
    """A record; without a number the fastest that is for a function of the module."""
    if number:
        proposal = workbench.read_record(source, (), str(path), int(number), function)
        return f"{path.stem}#{number}", _steps(proposal)
    found = workbench.records(str(path))
    fastest = [of[0] for each in found.workloads if (of := found.of(each.number))]
    last: ExperimentError | None = None
    for record in fastest:
        try:
            proposal = workbench.read_record(source, (), str(path), record.number, function)
        except ExperimentError as other:
            last = other
            continue
        return f"{path.stem}#{record.number}", _steps(proposal)
    raise last or ExperimentError(f"{path} has no records.", do="Name a record by its line.")


def _steps(proposal: Proposal) -> workbench.Steps:
    if proposal.refusal is not None:
        raise UserError.of(proposal.refusal)
    return workbench.steps_of(proposal)
