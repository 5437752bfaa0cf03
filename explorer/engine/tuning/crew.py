"""The hands of a job: as many as there are cores, a new one for each that is lost."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from explorer.engine.tuning.hands import Died, Hand, Work, listen
from explorer.engine.tuning.talk import Answer, Order

ORDERS = 2000
"""After so many orders a hand is replaced: compilers keep what they made."""
GROWN_BYTES = 512 << 20
"""…or when its private memory has grown by so much."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What became of an order.  Without an `answer` the hand was lost: `lost` says how."""

    hand: Hand
    order: Order | None
    data: Any
    answer: Answer | None = None
    lost: str = ""


class Crew:
    """Forks hands, hears them, ends those that take too long, and lets them pause."""

    def __init__(self, work: Callable[[], Work], count: int) -> None:
        """`work` is called in each hand, and makes what carries out its orders."""
        self.work = work
        self.count = count
        self.hands: list[Hand] = []
        self.more: list[Hand] = []
        """Hands besides the crew's own number, for long orders and remote devices."""
        self._orders: dict[int, int] = {}
        self._born_bytes: dict[int, int] = {}

    def fill(self) -> None:
        """Have all hands."""
        while len(self.hands) < self.count:
            self.hands.append(self._fork())

    def extra(self) -> Hand:
        """One more hand, until it is dismissed."""
        hand = self._fork()
        self.more.append(hand)
        return hand

    def all(self) -> list[Hand]:
        """Every hand there is."""
        return [*self.hands, *self.more]

    def give(self, hand: Hand, order: Order, limit_s: float, data: Any) -> Heard | None:
        """Give an order; what became of it if the hand is gone already."""
        self._orders[hand.pid] = self._orders.get(hand.pid, 0) + 1
        try:
            hand.give(order, limit_s, data)
        except Died as died:
            self._forget(hand)
            return Heard(hand=hand, order=order, data=data, lost=str(died))
        return None

    def hear(self, timeout_s: float) -> list[Heard]:
        """What became of orders since, waiting at most `timeout_s` for the first."""
        found = []
        for hand in listen(self.all(), timeout_s):
            order, data = hand.order, hand.data
            try:
                answer = hand.receive()
            except Died as died:
                self._forget(hand)
                found.append(Heard(hand=hand, order=order, data=data, lost=str(died)))
                continue
            if answer is not None:
                found.append(Heard(hand=hand, order=order, data=data, answer=answer))
        for hand in [hand for hand in self.all() if hand.overdue()]:
            order, data = hand.order, hand.data
            self.dismiss(hand)
            lost = f"no answer within {hand.limit_s:.0f} s"
            found.append(Heard(hand=hand, order=order, data=data, lost=lost))
        return found

    def pause(self, besides: Hand | None = None) -> None:
        """Stop all hands where they are, but one."""
        for hand in self.all():
            if hand is not besides:
                hand.pause()

    def go_on(self) -> None:
        """Let all work again."""
        for hand in self.all():
            hand.go_on()

    def worn(self, hand: Hand) -> bool:
        """It has worked, or grown, enough to be replaced."""
        grown = _data_bytes(hand.pid) - self._born_bytes[hand.pid]
        return self._orders.get(hand.pid, 0) > ORDERS or grown > GROWN_BYTES

    def dismiss(self, hand: Hand) -> None:
        """End a hand; whatever it was at is lost."""
        hand.kill()
        self._forget(hand)

    def close(self) -> None:
        """End all hands."""
        for hand in self.all():
            self.dismiss(hand)

    def _fork(self) -> Hand:
        hand = Hand(self.work)
        self._born_bytes[hand.pid] = _data_bytes(hand.pid)
        return hand

    def _forget(self, hand: Hand) -> None:
        for group in (self.hands, self.more):
            if hand in group:
                group.remove(hand)
        self._orders.pop(hand.pid, None)
        self._born_bytes.pop(hand.pid, None)


def _data_bytes(pid: int) -> int:
    """Private writable memory of a process, which its limit bounds; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[5]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
