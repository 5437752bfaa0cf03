"""TVM's own database of a job: what was measured, kept so that plain TVM opens it at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tvm import ir
from tvm.s_tir import meta_schedule as ms

from explorer.engine.isolate import Died, isolated
from explorer.engine.refuse import REFUSALS
from explorer.engine.tuning.database import lines, record_of, workload_of
from explorer.tuning.folder import RECORDS, WORKLOADS

ASIDE = ".unreadable"
"""Lines that are none of TVM's are put aside into a file of this ending."""
OPEN_S = 120.0


class Store:
    """The two files.  Opening them mends what a crash or somebody else left."""

    def __init__(self, path: Path) -> None:
        """Raises ExperimentError when they can't be read."""
        self.workloads, self.records = path / WORKLOADS, path / RECORDS
        self.put_aside = 0
        """Lines that were no workload or record."""
        self._numbers: dict[str, int] = {}
        """Workloads by their hash."""
        self._unsafe = False
        self._mend()

    def number(self, workload: ir.IRModule) -> int:
        """The workload's number, which it gets now if it has none."""
        digest, text = (str(each) for each in ms.database.Workload(workload).as_json())
        if digest not in self._numbers:
            self._append(self.workloads, [digest, text])
            self._numbers[digest] = len(self._numbers)
        return self._numbers[digest]

    def add(self, workload: int, record: str, us: float) -> None:
        """Keep a measured candidate; `record` is TVM's JSON of it without a time."""
        trace, _, target, args = json.loads(record)
        self._append(self.records, [workload, [trace, [us / 1e6], target, args]])

    def sync(self) -> None:
        """Let it outlive the machine."""
        if self._unsafe:
            self._unsafe = False
            for path in (self.workloads, self.records):
                if path.exists():
                    with open(path, "rb") as file:
                        os.fsync(file.fileno())

    def revise(self, workload: int, revised: Mapping[str, float | None]) -> None:
        """Give other times to records, named by their `record` JSON; None takes one away."""
        times = {_trace_text(json.loads(record)): us for record, us in revised.items()}
        kept = []
        for _, (number, body) in lines(self.records):
            key = _trace_text(body)
            if number == workload and key in times:
                us = times[key]
                if us is None:
                    continue
                body = [body[0], [us / 1e6], *body[2:]]
            kept.append([number, body])
        _replace(self.records, kept)

    def _append(self, path: Path, value: list[Any]) -> None:
        with open(path, "ab", buffering=0) as file:
            file.write(json.dumps(value).encode() + b"\n")
        self._unsafe = True

    # Mending

    def _mend(self) -> None:
        """Read the files; lines that TVM would choke on are put aside."""
        workloads = self._sound(self.workloads, lambda number, data: workload_of(data))
        places: dict[int, int] = {}
        for at, data in workloads:
            places[at] = len(places)
            self._numbers.setdefault(workload_of(data)[0], places[at])

        def fits(number: int, data: Any) -> None:
            if record_of(number, data).workload not in places:
                raise ValueError("Its workload can't be read.")

        records = [[places[data[0]], data[1]] for _, data in self._sound(self.records, fits)]
        if not self.put_aside:
            return
        texts = [data for _, data in workloads]
        fine = _readable(texts, records)
        self._set_aside(self.records, [records[n] for n in range(len(records)) if n not in fine])
        _replace(self.workloads, texts)
        _replace(self.records, [records[n] for n in sorted(fine)])

    def _sound(
        self, path: Path, read: Callable[[int, Any], object]
    ) -> Iterator[tuple[int, Any]] | list[tuple[int, Any]]:
        """The lines that `read` takes, numbered from 0; the others are put aside."""
        found: list[tuple[int, Any]] = []
        bad: list[Any] = []
        for at, (number, data) in enumerate(lines(path) if path.exists() else ()):
            try:
                read(number, data)
            except ValueError:
                bad.append(str(data))
            else:
                found.append((at, data))
        self._set_aside(path, bad)
        return found

    def _set_aside(self, path: Path, bad: list[Any]) -> None:
        self.put_aside += len(bad)
        with open(path.with_name(path.name + ASIDE), "ab") as file:
            file.writelines(json.dumps(each).encode() + b"\n" for each in bad)


def _readable(workloads: list[Any], records: list[list[Any]]) -> set[int]:
    """The records that TVM itself reads: it performs each trace, and refuses the whole file for
    one that does not apply.  In a process of its own."""

    def work() -> list[int]:
        own = [ms.database.Workload.from_json(each) for each in workloads]
        fine = []
        for number, (workload, body) in enumerate(records):
            try:
                ms.database.TuningRecord.from_json(body, own[workload])
                fine.append(number)
            except REFUSALS:
                continue
        return fine

    try:
        return set(isolated(work, list[int], OPEN_S))
    except Died:
        return set()


def _trace_text(body: list[Any]) -> str:
    return json.dumps(body[0])


def _replace(path: Path, values: list[Any]) -> None:
    """Write a file anew, whole or not at all."""
    new = path.with_name(f".new-{path.name}")
    with open(new, "wb") as file:
        file.writelines(json.dumps(value).encode() + b"\n" for value in values)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
