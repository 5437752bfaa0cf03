"""The files of a TVM database, line by line; nothing in them is trusted."""

from __future__ import annotations

import base64
import binascii
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from explorer.errors import ExperimentError
from explorer.targets.json_text import LIMITS
from explorer.tuning.folder import RECORDS, WORKLOADS
from explorer.tuning.records import TuningRecord

FAILED_S = 1e9
"""TVM writes 1e10 seconds for a candidate that failed."""
LINE_BYTES = 16 << 20


class Files:
    """The two files of a database; either may be missing."""

    def __init__(self, path: Path) -> None:
        """Find them: a folder, or either of the two files.  Raises ExperimentError."""
        self.workloads: Path | None = None
        self.records: Path | None = None
        if path.is_dir():
            self._take([path / WORKLOADS, path / RECORDS])
            if self.records is None:
                self._take(sorted(path.glob("*.json")))
        elif path.is_file():
            self._take([path])
            self._take([path.with_name(name) for name in _twins(path.name)])
            self._take(sorted(path.parent.glob("*.json")))
        if self.records is None and self.workloads is None:
            raise ExperimentError(
                f"{path} holds no tuning records.",
                "There is no such file or folder." if not path.exists() else
                "No line in it is a workload or a record of TVM's database.",
                f"Name a folder with {WORKLOADS} and {RECORDS}, or one of these files.",
            )  # fmt: skip

    def _take(self, paths: list[Path]) -> None:
        """Let files fill what is still missing, by what their lines are."""
        for path in paths:
            kind = _kind(path)
            if kind == "workload" and self.workloads is None:
                self.workloads = path
            elif kind == "record" and self.records is None:
                self.records = path


class Damaged(str):
    """A line that is no JSON array; the text says why."""


def lines(path: Path | None) -> Iterator[tuple[int, Any]]:
    """The lines of a file with their numbers: JSON arrays, or `Damaged`; blank ones left out.

    Raises ExperimentError when the file can't be read.
    """
    if path is None:
        return
    try:
        with open(path, "rb") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield number, _decoded(text)
    except OSError as failure:
        raise ExperimentError(f"{path} can't be read.", f"{failure.strerror}.") from failure


def workload_of(line: Any) -> tuple[str, str]:
    """Hash and TVM's JSON of a workload line.  Raises ValueError with what is wrong."""
    match line:
        case [str() | int() as digest, str() as packed]:
            pass
        case Damaged():
            raise ValueError(line)
        case _:
            raise ValueError("It is no workload: a hash and a text are expected.")
    try:
        data = base64.b64decode(packed, validate=True)
    except binascii.Error:
        raise ValueError("The text of this workload is not base64.") from None
    brace = data.find(b"{")  # before it: the text's length in eight bytes
    try:
        return str(digest), data[max(brace, 0) :].decode()
    except UnicodeDecodeError:
        raise ValueError("The text of this workload is not JSON.") from None


def record_of(number: int, line: Any) -> TuningRecord:
    """What a record says besides its trace.  Raises ValueError with what is wrong."""
    (workload, trace), rest = _record(line), line[1][1:]
    seconds, target, args = (*rest, None, None, None)[:3]
    runs = _seconds(seconds)
    median = statistics.median(runs) if runs else FAILED_S
    return TuningRecord(
        number=number, workload=workload, runs=len(runs), target=target_text(target),
        us=median * 1e6 if median < FAILED_S else None,
        args=tuple(_argument(each) for each in args or ()) if isinstance(args, list) else (),
        instructions=sum(1 for each in trace[0] if each[0] != "EnterPostproc"),
    )  # fmt: skip


def trace_of(line: Any) -> list[Any]:
    """The trace of a record line: instructions and decisions.  Raises ValueError."""
    return _record(line)[1]


def target_text(target: Any) -> str:
    """A record's target as a text that `explorer.targets` resolves; "" when it has none.

    llvm is this machine, whatever processor was tuned for.
    """
    if isinstance(target, str):
        words = target.split()
        if words[:1] == ["llvm"]:
            return "llvm"
        return next((w.partition("=")[2] for w in words if w.startswith("-arch=")), target)
    if not isinstance(target, dict):
        return ""
    if target.get("kind") == "llvm":
        return "llvm"
    if target.get("tag"):
        return str(target["tag"])
    known = {key: target[key] for key in ("kind", "arch", *LIMITS) if target.get(key)}
    return msgspec.json.encode(known).decode()


def _record(line: Any) -> tuple[int, list[Any]]:
    match line:
        case [int() as workload, [[list() as instructions, list()] as trace, *_]] if (
            workload >= 0 and all(_is_instruction(each) for each in instructions)
        ):
            return workload, trace
        case Damaged():
            raise ValueError(line)
    raise ValueError("It is no record: a workload's number and a trace are expected.")


def _is_instruction(given: Any) -> bool:
    match given:
        case [str(), list(), list(), list()]:
            return True
    return False


def _seconds(given: Any) -> list[float]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(
        isinstance(each, (int, float)) and not isinstance(each, bool) and each >= 0
        for each in given
    ):
        raise ValueError("Its times are no list of seconds.")
    return [float(each) for each in given]


def _argument(given: Any) -> str:
    match given:
        case [str(), str() as dtype, [*shape]]:
            return f"{dtype}[{', '.join(str(size) for size in shape)}]"
    return str(given)[:100]


def _decoded(text: bytes) -> Any:
    if len(text) > LINE_BYTES:
        return Damaged(f"It is longer than {LINE_BYTES >> 20} MB.")
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as wrong:
        return Damaged(f"It is no JSON: {wrong}.")
    return found if isinstance(found, list) else Damaged("It is no JSON array.")


def _kind(path: Path) -> str:
    """ "workload" or "record" by the first line that is one, "" for other files."""
    if not path.is_file():
        return ""
    named = path.name in (WORKLOADS, RECORDS)
    for at, (_, line) in enumerate(lines(path)):
        if at >= 100:
            break
        for kind, read in (("workload", workload_of), ("record", _record)):
            try:
                read(line)
                return kind
            except ValueError:
                continue
    if not named:
        return ""
    return "workload" if path.name == WORKLOADS else "record"


def _twins(name: str) -> list[str]:
    """What the other file of a pair may be called."""
    pairs = (("tuning_record", "workload"), ("records", "workloads"), ("record", "workload"))
    found = [name.replace(one, other) for one, other in pairs if one in name]
    found += [name.replace(other, one) for one, other in pairs if other in name]
    return [*found, WORKLOADS, RECORDS]
