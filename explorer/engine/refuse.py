"""TVM's refusals as one sentence; its own text is kept as details."""

from __future__ import annotations

import re

from tvm import error, s_tir

from explorer.errors import StepRefused

REFUSALS = (s_tir.ScheduleError, TypeError, ValueError, IndexError, error.InternalError)
"""What a schedule primitive raises when it does not apply (FACTS.md); anything else is a bug."""


def explain(method: str, failure: Exception, subjects: list[str] | None = None) -> StepRefused:
    """A StepRefused with TVM's reason: the last sentence of its text, free of C++ names."""
    text = str(failure)
    last = next((ln.strip() for ln in reversed(text.splitlines()) if ln.strip()), text)
    reason = re.sub(
        r"^(ScheduleError|Error message|TypeError|ValueError|InternalError):\s*", "", last
    )
    reason = re.sub(r"\b(s_tir|tirx)\.(SBlock|For)#\d+", r"\2", reason)
    return StepRefused(f"{method} does not apply here.", reason, details=text)
