"""A database of TVM's tuning records: what is in it, and a record as steps for a module here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tvm import ir, s_tir, tirx

from explorer.engine.isolate import Died, isolated
from explorer.engine.places import _pre_order
from explorer.engine.refuse import REFUSALS
from explorer.engine.tuning.database import Files, lines, record_of, trace_of, workload_of
from explorer.engine.tuning.performed import performed
from explorer.engine.tuning.same import functions, functions_like
from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.model.view import Proposal
from explorer.primitives import Step
from explorer.tuning.records import BadLine, Records, TuningRecord, Workload

READ_TIMEOUT_S = 30.0
UNREADABLE = (*REFUSALS, AttributeError, RecursionError)
"""What TVM raises for a text that is not an object of its own."""


def records(path: str) -> Records:
    """Everything in the database at `path`: a folder or one of its two files.

    Lines that are no workload or record are skipped and named.  Raises ExperimentError when there
    is no database.
    """
    files = Files(Path(path))
    skipped: list[BadLine] = []
    workloads = tuple(_described(_texts(files, skipped)))
    found: list[TuningRecord] = []
    for line, data in lines(files.records):
        try:
            found.append(record_of(line, data))
        except ValueError as wrong:
            assert files.records is not None
            skipped.append(BadLine(files.records.name, line, str(wrong)))
    return Records(workloads=workloads, records=tuple(found), skipped=tuple(skipped))


def read_record(
    source: Source, steps: tuple[Step, ...], path: str, number: int, function: str = ""
) -> Proposal:
    """Record `number` (its line) as steps to put behind `steps`.

    It is taken for `function`, or the first one that equals the record's own apart from names.
    Raises ExperimentError when there is none or no such record; a trace that stops on the way is a
    proposal with its refusal, as of a schedule file.
    """
    from explorer.engine.replay import replay

    live = replay(source, steps).live
    trace, workload = find(path, number)
    own = None if workload is None else only_function(workload)
    names = functions_like(own, live.mod) if own is not None else functions(live.mod)
    if function:
        names = tuple(name for name in names if name == function)
    if not names:
        wanted = function or f"function of the module ({', '.join(functions(live.mod))})"
        its = "" if own is None else f" It has the blocks {', '.join(_blocks(own))}."
        raise ExperimentError(
            f"Record {number} is for another function.",
            f"No {wanted} is the same, names aside.{its}",
            "Open the record's own function as the module.",
        )
    if own is None and len(names) > 1:
        raise ExperimentError(
            f"It is not known which function record {number} is for.",
            f"Its workload can't be read, and the module has {', '.join(names)}.",
            "Name the function.",
        )
    return performed(live, names[0], trace, workload).proposal(f"record {number}", names[0])


def find(path: str, number: int) -> tuple[list[Any], ir.IRModule | None]:
    """A record's trace and its workload, None where that can't be read.  Raises ExperimentError."""
    files = Files(Path(path))
    for line, data in lines(files.records):
        if line == number:
            try:
                trace, workload = trace_of(data), int(data[0])
            except ValueError as wrong:
                raise ExperimentError(f"Line {number} is no record.", str(wrong)) from wrong
            known = _texts(files, [])[workload : workload + 1]
            return trace, next(iter(_safely_loaded(known)), None)
    raise ExperimentError(
        f"There is no record {number}.", "Records are named by their line in the file.",
        "List them first.",
    )  # fmt: skip


def load_workloads(files: Files) -> list[ir.IRModule | None]:
    """Every workload as TVM's module; None where TVM can't read it."""
    return _safely_loaded(_texts(files, []))


def _safely_loaded(texts: list[tuple[int, str, str]]) -> list[ir.IRModule | None]:
    """Loaded here once that is known to go well."""
    return [
        None if seen.reason else _loaded(text)
        for seen, (_, _, text) in zip(_described(texts), texts, strict=True)
    ]


def only_function(workload: ir.IRModule) -> tirx.PrimFunc:
    """A workload's function."""
    return workload[functions(workload)[0]]


def _texts(files: Files, skipped: list[BadLine]) -> list[tuple[int, str, str]]:
    """Number, hash and text of every workload, as records count them; "" where damaged."""
    found: list[tuple[int, str, str]] = []
    for line, data in lines(files.workloads):
        digest, text = "", ""
        try:
            digest, text = workload_of(data)
        except ValueError as wrong:
            assert files.workloads is not None
            skipped.append(BadLine(files.workloads.name, line, str(wrong)))
        found.append((len(found), digest, text))
    return found


def _described(texts: list[tuple[int, str, str]]) -> list[Workload]:
    """Workloads read in a process of their own: a text that isn't TVM's may end it."""
    if not texts:
        return []
    try:
        return isolated(
            lambda: [_workload(*each) for each in texts], list[Workload], READ_TIMEOUT_S
        )
    except Died as died:
        if len(texts) == 1:
            number, digest, _ = texts[0]
            why = f"TVM can't read it: {str(died).strip().splitlines()[-1]}."
            return [Workload(number=number, hash=digest, reason=why)]
        return [one for each in texts for one in _described([each])]


def _workload(number: int, digest: str, text: str) -> Workload:
    if not text:
        return Workload(number=number, hash=digest, reason="Its line is damaged.")
    try:
        mod = _loaded(text)
        func = only_function(mod)
        script = str(mod.script())
    except UNREADABLE as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        why = f"TVM 0.27 can't read it: {said[-1][:200]}."
        return Workload(number=number, hash=digest, reason=why)
    return Workload(
        number=number, hash=digest, function=functions(mod)[0], script=script,
        args=tuple(_argument(param) for param in func.params), blocks=_blocks(func),
    )  # fmt: skip


def _blocks(func: tirx.PrimFunc) -> tuple[str, ...]:
    found: list[Any] = []
    _pre_order(func.body, found.append)
    names = [str(each.name_hint) for each in found if isinstance(each, s_tir.SBlock)]
    return tuple(name for name in names if name != "root")


def _loaded(text: str) -> ir.IRModule:
    mod = ir.load_json(text)
    if not isinstance(mod, ir.IRModule) or not functions(mod):
        raise ValueError("it is no module with a function")
    return mod


def _argument(param: Any) -> str:
    if not isinstance(param, tirx.Buffer):
        return str(param.name)
    return f"{param.dtype}[{', '.join(str(size) for size in param.shape)}]"


__all__ = ["find", "load_workloads", "only_function", "read_record", "records"]
