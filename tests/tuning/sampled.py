"""Candidates that MetaSchedule samples for a function, by the product's own design space."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from tvm import ir

from explorer.engine.load import module
from explorer.engine.tuning.space import Rejected, Space
from explorer.engine.warm import warm
from explorer.model.loaded import Source
from explorer.model.target import Target
from explorer.tuning.job import Task, TuneJob


def warm_up() -> None:
    """Import what MetaSchedule and dlight need, from a short stack: each of 300 intrinsics asks
    which modules the frames above it belong to, and pytest's are many."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(warm).result()


def candidates(
    text: str, function: str, target: Target, number: int, seed: int = 1
) -> Iterator[ir.IRModule]:
    """So many programs that passed the postprocessors; each holds `function` alone."""
    warm_up()
    source = Source(text)
    job = TuneJob(source=source, target=target.tag, tasks=(Task(function),), runner="static")
    space = Space(module(source), function, target, job)
    found = tried = 0
    while found < number and tried < 40 * number:
        design = space.designs[tried % len(space.designs)].number
        tried += 1
        try:
            sch = space.sample(design, seed * 10_000 + tried)
            space.postprocess(sch)
        except Rejected:
            continue
        found += 1
        func = sch.mod["main"].with_attr("global_symbol", function)
        yield ir.IRModule({function: func})


def rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's, equal values sharing their rank."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: list[float]) -> npt.NDArray[np.float64]:
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[inverse]
