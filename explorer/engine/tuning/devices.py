"""A device of a job: used by one hand at a time, and by one job at a time."""

from __future__ import annotations

import time

from explorer.engine.device_lock import Turn
from explorer.engine.tuning.hands import Hand
from explorer.engine.tuning.talk import Connected
from explorer.runners import Place

TURN_S = 1.0
REMOTE_TURN_S = 5.0
"""A session with a server costs more to begin."""
FAILURES = 3
"""A device that can't be reached so often in a row is given up."""


class Device:
    """Whose turn it is on a device, and who uses it.  A remote one has a hand of its own."""

    def __init__(self, number: int, place: Place, *, remote: bool) -> None:
        self.number, self.place, self.remote = number, place, remote
        self.user: Hand | None = None
        """The hand that runs something there now."""
        self.hand: Hand | None = None
        self.connected: set[int] = set()
        """Hands that have taken it, by process."""
        self.told = False
        """It answered once: `triple` and `link` are known."""
        self.triple = ""
        """The processor of a remote device's host, "" when it is the same as ours."""
        self.link = False
        """The C++ compiler here makes libraries for it."""
        self.failures = 0
        self.lost = ""
        """Why it was given up."""
        self._turn = Turn(place.lock) if place.lock else None
        self._since: float | None = None

    def take(self) -> bool:
        """It is our turn, now or already."""
        if self._since is None and (self._turn is None or self._turn.take()):
            self._since = time.monotonic()
        return self._since is not None

    @property
    def over(self) -> bool:
        """Others may want it now."""
        limit = REMOTE_TURN_S if self.remote else TURN_S
        return self._since is not None and time.monotonic() - self._since > limit

    def give(self) -> None:
        """Let others have it."""
        self._since = None
        if self._turn is not None:
            self._turn.give()

    def answered(self, hand: Hand, told: Connected) -> None:
        """A hand has taken it, or could not."""
        if told.failed:
            self.failed(told.failed)
            return
        self.connected.add(hand.pid)
        self.failures, self.told = 0, True
        self.triple, self.link = told.triple, told.link

    def failed(self, why: str) -> None:
        """It could not be reached."""
        self.failures += 1
        if self.failures >= FAILURES:
            self.lost = why
