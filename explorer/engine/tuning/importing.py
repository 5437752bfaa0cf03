"""Somebody's database made a job here: a module, TVM's files anew, and an event a record."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from tvm import ir, tirx

from explorer.engine.isolate import Died, isolated
from explorer.engine.load import module
from explorer.engine.refuse import REFUSALS
from explorer.engine.tuning.database import Files, lines, record_of, trace_of
from explorer.engine.tuning.performed import in_todays_names
from explorer.engine.tuning.records import load_workloads, only_function
from explorer.engine.tuning.same import functions, functions_like
from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.tuning.events import Candidate
from explorer.tuning.folder import RECORDS, WORKLOADS, Folder
from explorer.tuning.records import Imported, TuningRecord

FIT_TIMEOUT_S = 120.0


def import_records(path: str, into: str, source: Source | None = None) -> Imported:
    """Take the records at `path` over into the folder `into`, which must exist.

    Without a `source` the workloads themselves are the module.  The files at `path` are only read.
    Raises ExperimentError when there is nothing that can be taken over.
    """
    files = Files(Path(path))
    mods = {n: mod for n, mod in enumerate(load_workloads(files)) if mod is not None}
    names, left_out = _named(mods, None if source is None else module(source))
    records = [(record_of(line, data), data) for line, data in _sound(files)]
    if not any(record.workload in names for record, _ in records):
        raise ExperimentError(
            "There is nothing to import.",
            " ".join(left_out) or "No record is for a function that TVM 0.27 can read.",
            "Import without a module, to have the functions that the records are for.",
        )
    counts = Counter(record.workload for record, _ in records)
    left_out += [
        f"{counts[n]} records are for workload {n}, which can't be read."
        for n in sorted(counts) if n not in mods
    ]  # fmt: skip
    mine = [(record, data) for record, data in records if record.workload in names]
    unfit = _write_database(Path(into), {n: mods[n] for n in names}, mine)
    if unfit:
        left_out.append(
            f"{unfit} of them are kept as candidates only: TVM 0.27 itself can't read them."
        )
    folder = Folder(Path(into))
    for at, (record, data) in enumerate(mine, start=1):
        folder.tell(_event(at, names[record.workload], record, data))
    targets = Counter(record.target for record, _ in mine if record.target)
    return Imported(
        source=source or Source(_text({names[n]: mods[n] for n in names})),
        functions=tuple(dict.fromkeys(names.values())), candidates=len(mine),
        target=targets.most_common(1)[0][0] if targets else "", left_out=tuple(left_out),
    )  # fmt: skip


def _sound(files: Files) -> list[tuple[int, list[Any]]]:
    """The lines that are records."""
    found = []
    for line, data in lines(files.records):
        try:
            record_of(line, data)
        except ValueError:
            continue
        found.append((line, data))
    return found


def _named(
    mods: dict[int, ir.IRModule], given: ir.IRModule | None
) -> tuple[dict[int, str], list[str]]:
    """The function of each workload in the module given, or a name of its own; and who has none."""
    names: dict[int, str] = {}
    left_out: list[str] = []
    for number, mod in mods.items():
        own = functions(mod)[0]
        if given is None:
            taken = set(names.values())
            name, n = own, 1
            while name in taken:
                name, n = f"{own}_{n}", n + 1
            names[number] = name
            continue
        found = functions_like(only_function(mod), given)
        if found:
            names[number] = found[0]
        else:
            left_out.append(f"Workload {number} ({own}) is no function of the module.")
    return names, left_out


def _text(mods: dict[str, ir.IRModule]) -> str:
    """One module of all workloads, each under its name."""
    named = {
        ir.GlobalVar(name): _called(only_function(mod), name) for name, mod in mods.items()
    }  # fmt: skip
    return str(ir.IRModule(named).script())


def _called(func: tirx.PrimFunc, name: str) -> tirx.PrimFunc:
    return func.with_attr("global_symbol", name)


def _write_database(
    into: Path, mods: dict[int, ir.IRModule], records: list[tuple[TuningRecord, list[Any]]]
) -> int:
    """TVM's two files with what TVM can read; returns how many records it can't."""
    from tvm.s_tir.meta_schedule import database

    workloads = {number: database.Workload(mod) for number, mod in mods.items()}
    places = {number: at for at, number in enumerate(mods)}
    with open(into / WORKLOADS, "wb") as file:
        for workload in workloads.values():
            digest, text = workload.as_json()
            file.write(msgspec.json.encode([str(digest), str(text)]) + b"\n")
    bodies = [[in_todays_names(trace_of(data)), *data[1][1:]] for _, data in records]
    fit = _fit(
        [(workloads[r.workload], body) for (r, _), body in zip(records, bodies, strict=True)]
    )
    with open(into / RECORDS, "wb") as file:
        for at in fit:
            line = [places[records[at][0].workload], bodies[at]]
            file.write(msgspec.json.encode(line) + b"\n")
    return len(records) - len(fit)


def _fit(records: list[tuple[Any, list[Any]]]) -> list[int]:
    """Which records TVM reads.  It performs their traces: in a process of its own."""
    from tvm.s_tir.meta_schedule import database

    def work() -> list[int]:
        found = []
        for at, (workload, body) in enumerate(records):
            try:
                database.TuningRecord.from_json(body, workload)
            except REFUSALS:
                continue
            found.append(at)
        return found

    try:
        return isolated(work, list[int], FIT_TIMEOUT_S)
    except Died:
        return []


def _event(number: int, function: str, record: TuningRecord, data: list[Any]) -> Candidate:
    timed = record.us is not None
    return Candidate(
        at=time.time(), id=number, function=function, fate="measured" if timed else "run_failed",
        trace=msgspec.json.encode(trace_of(data)).decode(), origin="imported",
        reason="" if timed else "It was recorded without a time.", us=record.us,
        runs_us=tuple(float(s) * 1e6 for s in data[1][1]) if timed else (),
    )  # fmt: skip
