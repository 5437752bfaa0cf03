"""This machine's processor: CPU schedules (parallel, vectorize) timed here."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from explorer.errors import Refusal
from explorer.model.race import Where
from explorer.model.target import Target
from explorer.runners.base import Connection, Place, Say

NAME = "llvm"
LABEL = "This machine's processor"
WARNING = ""


def can_run(target: Target) -> Refusal | None:
    """Only code for llvm."""
    if target.kind == "llvm":
        return None
    return Refusal(
        what=f"This machine's processor can't run code for {target.tag}.",
        why="It is CUDA code, for a GPU.",
        do='Choose the runner "local_cuda" or "rpc", or the target llvm.',
    )


def places(where: Where, target: Target) -> tuple[Place, ...] | Refusal:
    """One: the processor."""
    return (Place(name=cpu_name(), lock="cpu"),)


def connect(place: Place, where: Where, session_s: float, say: Say) -> Connection:
    """The processor is always there."""
    import tvm

    return Connection(device=tvm.cpu(), name=place.name, load=lambda built: built, in_process=True)


def cpu_name() -> str:
    """The processor's model and how many cores this process may use."""
    cores = len(os.sched_getaffinity(0))
    return f"{_model() or platform.machine()} ({cores} core{'s' * (cores != 1)})"


def _model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""
