"""The last word on the best candidates, in a hand: a race on the device, or the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.engine.check import check_module
from explorer.engine.race_build import Starter
from explorer.engine.race_device import OnDevice
from explorer.engine.tuning.space import Rejected
from explorer.engine.tuning.talk import Emulate, Emulated, Final, Raced
from explorer.model.race import Heat, Method

if TYPE_CHECKING:
    from explorer.engine.tuning.attempt import Attempts


def race(attempts: Attempts, order: Final) -> Raced:
    """Candidates, then rivals, on one device: in rounds, in changing order."""
    job, subject = attempts.job, attempts.subjects[order.function]
    assert job.runner is not None
    assert subject.material is not None
    starters = []
    records: dict[int, str] = {}
    for id, gene in order.genes:
        try:
            mod, records[id] = attempts.candidate(subject, gene)
            starters.append(Starter(f"#{id}", mod))
        except Rejected as rejected:
            starters.append(Starter(f"#{id}", reason=rejected.reason))
    for name in order.rivals:
        made = attempts.rival(order.function, name)
        if isinstance(made, str):
            starters.append(Starter(name, reason=made))
        else:
            starters.append(Starter(name, made))
    heats: list[Heat] = []
    method = Method(budget_s=order.budget_s, seed=job.job.seed)
    OnDevice(
        job.runner, job.places[order.place], job.job.where, job.target, method,
        lambda function, place, heat: heats.append(heat),
    ).run(subject.material, starters)  # fmt: skip
    return Raced(heat=heats[-1], records=records)


def emulate(attempts: Attempts, order: Emulate) -> Emulated:
    """A candidate's kernels run on the CPU."""
    job, subject = attempts.job, attempts.subjects[order.function]
    mod, _ = attempts.candidate(subject, order.gene)
    ((_, check),) = check_module(job.original, mod, job.target, job.job.sizes, order.function)
    return Emulated(check)
