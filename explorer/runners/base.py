"""The contract of a runner: where variants are timed.

A runner is one file in this folder with

- `NAME` (its key), `LABEL` (for menus), `WARNING` (what the user must know, or "");
- `can_run(target) -> Refusal | None`: None when code for that target can be timed here;
- `places(where, target) -> tuple[Place, ...] | Refusal`: the devices asked for, not touched yet;
- `connect(place, where, session_s, say) -> Connection`, called in a process of its own for each
  device; `say` is told the device's name as soon as it is known.  Raises Unreachable.

TVM is imported inside functions: the command line asks `can_run` without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from explorer.errors import Refusal
from explorer.model.race import Where
from explorer.model.target import Target


class Unreachable(Exception):
    """The device can't be used; the message is a sentence that says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """One device.  `lock` names what only one race at a time may use, "" for nothing here.

    `endpoint` is the host and port of a server or tracker, `host` the machine that it is on.
    """

    name: str
    lock: str
    endpoint: tuple[str, int] = ("", 0)
    number: int = 0
    host: str = ""
    cuda: bool = False
    """The device wanted there is a GPU."""


@dataclass(kw_only=True)
class Connection:
    """A device that answered.

    `load` turns a built module (or the file it was exported to) into one that runs there.
    `triple` is the device's host processor where it is another machine's, else "".
    """

    device: Any
    name: str
    load: Callable[[Any], Any]
    driver: str = ""
    triple: str = ""
    in_process: bool = False
    """Code runs on this process' own threads: what interrupts it disturbs the time."""


Say = Callable[[str], None]


class Runner(Protocol):
    """A module of this folder."""

    NAME: str
    LABEL: str
    WARNING: str

    def can_run(self, target: Target) -> Refusal | None:
        """Why code for `target` can't be timed by this runner, or None."""

    def places(self, where: Where, target: Target) -> tuple[Place, ...] | Refusal:
        """The devices that `where` names."""

    def connect(self, place: Place, where: Where, session_s: float, say: Say) -> Connection:
        """The device, ready to load modules."""
