"""A TVM trace as steps."""

from __future__ import annotations

from typing import Any

from tvm import s_tir, tirx

from explorer.engine.live import Live
from explorer.engine.record import Recorder
from explorer.primitives import Step
from explorer.schedule_text.trace_json import read_trace


def steps_of(live: Live, trace: s_tir.Trace, func: str) -> tuple[Live, tuple[Step, ...]]:
    """`live` after the trace, and the steps that took it there.

    `func` is the function that the trace calls "main" (rules and tuners schedule one function at a
    time).  Questions make no step, sampled values become the numbers decided.  Raises StepRefused
    or ScheduleTextError, naming the instruction, when the trace does not fit.
    """
    recorder = Recorder(live, main=func)
    read_trace(plain(trace.as_json()), recorder)
    return recorder.live, tuple(recorder.steps)


def plain(value: Any) -> Any:
    """A trace's JSON value without the TVM numbers that `as_json` leaves in it."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, tirx.IntImm):
        return int(value.value)
    if isinstance(value, tirx.FloatImm):
        return float(value.value)
    return str(value) if isinstance(value, str) else value
