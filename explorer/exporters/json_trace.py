"""The steps as TVM's own JSON trace, for `tvm.s_tir.schedule.Trace.apply_json_to_schedule`."""

from __future__ import annotations

from explorer.exporters.base import Material

NAME = "trace"
LABEL = "TVM trace (JSON)"
SUFFIX = ".trace.json"


def render(material: Material) -> str:
    """The trace as TVM writes it."""
    return material.trace_json
