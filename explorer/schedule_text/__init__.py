"""Schedule files as steps: Python is interpreted over its syntax tree and never executed."""

from explorer.schedule_text.host import Extent, IndexMapJson, ScheduleHost, Variable
from explorer.schedule_text.python_text import interpret
from explorer.schedule_text.trace_json import read_trace

__all__ = ["Extent", "IndexMapJson", "ScheduleHost", "Variable", "interpret", "read_trace"]
