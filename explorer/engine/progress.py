"""What a long question has found so far, told while it is still being worked on.

The worker that answers sets where it goes; without one it goes nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_told: list[Callable[[Any], None]] = []


def tell(value: Any) -> None:
    """Hand on an intermediate answer, of the same type as the final one."""
    if _told:
        _told[-1](value)


@contextmanager
def told_to(sink: Callable[[Any], None]) -> Iterator[None]:
    """Send what is told within to `sink`."""
    _told.append(sink)
    try:
        yield
    finally:
        _told.pop()
