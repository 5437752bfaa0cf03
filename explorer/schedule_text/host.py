"""What a schedule text needs from whoever performs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True, eq=False)
class Variable:
    """A block, loop or sampled number that the host made; opaque to the text.

    Two variables are never equal, as TVM's are not; `origin` is the block it was fetched from.
    """

    kind: Literal["block", "loop"]
    value: Any
    origin: Any = None


@dataclass(frozen=True)
class Extent:
    """What `sch.get(loop)` tells: the loop's extent, an int where it is static."""

    extent: Any


@dataclass(frozen=True)
class IndexMapJson:
    """An index map as a JSON trace holds it; `numbers` are the sampled ones it may name."""

    text: str
    numbers: dict[str, int]


class ScheduleHost(Protocol):
    """Performs schedule calls one after another."""

    def call(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Perform `sch.<method>`; returns Variables as TVM would.

        Raises StepRefused, or ScheduleTextError for a method or argument that does not exist.
        """

    def restart(self) -> bool:
        """The text makes a new schedule: forget what was done.  True when that was something."""


@dataclass(frozen=True)
class Limits:
    """Bounds on an untrusted schedule text; generous for people, small for machines."""

    text_bytes: int = 2_000_000
    operations: int = 200_000
    calls: int = 5_000
    depth: int = 40
    items: int = 10_000
    magnitude: int = 2**62


LIMITS = Limits()
