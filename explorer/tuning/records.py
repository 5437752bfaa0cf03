"""What is in a database of TVM's tuning records: plain values.  Times in microseconds."""

from __future__ import annotations

import msgspec

from explorer.model.loaded import Source


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A function that records are about; `number` is its place in the file, from 0.

    `function` is its name there (mostly "main"), `hash` TVM's structural hash as written,
    `script` its TVMScript.  One that TVM 0.27 can't read has a `reason` and no script.
    """

    number: int
    function: str = ""
    hash: str = ""
    args: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    script: str = ""
    reason: str = ""

    def about(self) -> str:
        """The function in a few words: its arguments and blocks."""
        if self.reason:
            return f"workload {self.number}"
        blocks = ", ".join(self.blocks)
        return f"{self.function}({', '.join(self.args)})" + (f" with {blocks}" if blocks else "")


class TuningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One measured schedule; `number` is its line in the file, from 1.

    `us` is the median of its runs, None where it failed or was not run.  `target` is a text that
    this program resolves, "" when none was written.
    """

    number: int
    workload: int
    us: float | None = None
    runs: int = 0
    target: str = ""
    args: tuple[str, ...] = ()
    instructions: int = 0


class BadLine(msgspec.Struct, frozen=True):
    """A line that was skipped: the file's name, its number from 1, and what is wrong with it."""

    file: str
    line: int
    reason: str


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """A database as far as it could be read."""

    workloads: tuple[Workload, ...] = ()
    records: tuple[TuningRecord, ...] = ()
    skipped: tuple[BadLine, ...] = ()

    def of(self, workload: int) -> list[TuningRecord]:
        """The records of a workload, fastest first; those without a time come last."""
        found = [each for each in self.records if each.workload == workload]
        return sorted(found, key=lambda each: (each.us is None, each.us or 0.0, each.number))

    def record(self, number: int) -> TuningRecord | None:
        """The record on that line, or None."""
        return next((each for each in self.records if each.number == number), None)

    def workload(self, number: int) -> Workload | None:
        """The workload of that number, or None."""
        return next((each for each in self.workloads if each.number == number), None)


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A database made a job: the module that its workloads are, and what was taken over.

    `functions` are the names of its tasks in that module, `target` is that of most records ("" if
    none says), `left_out` are sentences about the rest.
    """

    source: Source
    functions: tuple[str, ...]
    candidates: int
    target: str = ""
    left_out: tuple[str, ...] = ()
