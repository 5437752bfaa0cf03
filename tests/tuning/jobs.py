"""Small tuning jobs on llvm, run in this process, and ways to disturb them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from explorer.engine.tuning.attempt import Attempts
from explorer.engine.tuning.hands import Work
from explorer.engine.tuning.job import Coordinator
from explorer.model.loaded import Source
from explorer.tuning.events import Candidate, Event, Finished
from explorer.tuning.folder import Control, Folder, Reader
from explorer.tuning.job import Task, TuneJob
from explorer.tuning.summary import Summary

MATMUL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"),
         C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
TWO = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"),
               C: T.Buffer((32, 32), "float32")):
        for i, j, k in T.grid(32, 32, 32):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def total(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64,), "float32")):
        for i, k in T.grid(64, 64):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""
MATMUL_JOB = TuneJob(
    source=Source(MATMUL), target="llvm", tasks=(Task("main"),), runner="llvm", trials=6, top=2
)


def new(path: Path, job: TuneJob = MATMUL_JOB, **changes: Any) -> Folder:
    """A job in a folder."""
    folder = Folder(path)
    folder.create(msgspec.structs.replace(job, **changes))
    folder.wish(Control())
    return folder


class Watched(Coordinator):
    """A run of a job that calls `seen` with each event, once it is told."""

    def __init__(
        self, folder: Folder, seen: Callable[[Event], None] = lambda event: None,
        work: Callable[..., Work] = Attempts,
    ) -> None:  # fmt: skip
        super().__init__(folder, work)
        self.seen = seen

    def _tell(self, event: Event) -> None:
        super()._tell(event)
        self.seen(event)


def run(folder: Folder, *args: Any, **options: Any) -> Finished:
    """Work on a job here until it ends."""
    with folder.working():
        return Watched(folder, *args, **options).run()


def run_apart(folder: Folder, *args: Any, **options: Any) -> int:
    """The same in a process of its own; how that ended."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            run(folder, *args, **options)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def events(folder: Folder) -> list[Event]:
    """Everything that was told."""
    reader = Reader(folder)
    found = reader.news()
    assert reader.unreadable == 0
    return found


def summary(folder: Folder) -> Summary:
    """What follows from it."""
    made = Summary(folder.job())
    made.add(events(folder))
    return made


def trials(folder: Folder) -> list[Candidate]:
    """The candidates that were sent to be built, as last told."""
    return [each for each in summary(folder).candidates.values() if each.trial]
