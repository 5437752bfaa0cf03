"""Pins and bans of one function: which decisions are kept, and which candidates are left out."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.engine.tuning.orders import Decisions, Gene, Value
from explorer.tuning.events import Design
from explorer.tuning.job import Ban, Pin, Steering


class Rudder:
    """What steering means for the designs of a function."""

    def __init__(self, function: str, steering: Steering, designs: Iterable[Design]) -> None:
        self._pins = [pin for pin in steering.pins if pin.function == function]
        self._bans = [ban for ban in steering.bans if ban.function == function]
        self._words = {
            (design.number, decision.at): decision.what
            for design in designs for decision in design.decisions
        }  # fmt: skip

    def pinned(self, design: int) -> Decisions:
        """The decisions that candidates of a design must keep."""
        return tuple(
            (pin.at, pin.value) for pin in self._pins
            if pin.design == design and (design, pin.at) in self._words
        )  # fmt: skip

    def keeps_out(self, design: int) -> bool:
        """A whole design is banned."""
        return any(ban.design == design and ban.at is None for ban in self._bans)

    def with_pins(self, gene: Gene) -> Gene:
        """A candidate with the pinned decisions in place of its own."""
        pinned = dict(self.pinned(gene.design))
        if not pinned or gene.trace:
            return gene
        decisions = tuple((at, pinned.get(at, value)) for at, value in gene.decisions)
        return Gene(gene.design, decisions)

    def off_pin(self, gene: Gene) -> str:
        """Which pin a candidate does not keep, in a sentence, or "".

        TVM changes a tile that does not fit its loop without a word.
        """
        own = dict(gene.decisions)
        for pin in self._pins:
            known = (gene.design, pin.at) in self._words and pin.design == gene.design
            if known and own.get(pin.at) != pin.value:
                return f"{self._what(pin)} is pinned to {_text(pin.value)}, which does not fit."
        return ""

    def banned(self, gene: Gene) -> str:
        """Which ban a candidate falls under, in a sentence, or ""."""
        own = dict(gene.decisions)
        for ban in self._bans:
            if ban.design != gene.design:
                continue
            if ban.at is None:
                return f"Design {ban.design} is left out."
            value = own.get(ban.at)
            number = value if ban.part is None else _part(value, ban.part)
            if isinstance(number, int) and ban.low <= number <= ban.high:
                part = "" if ban.part is None else f"factor {ban.part} of the "
                what = self._what(ban)
                what = f"{part}{what[0].lower()}{what[1:]}" if part else what
                return (
                    f"{what[0].upper()}{what[1:]} is {number}; {ban.low} to {ban.high} is left out."
                )
        return ""

    def _what(self, at: Pin | Ban) -> str:
        what = self._words.get((at.design, at.at or 0), f"instruction {at.at}")
        return what[0].upper() + what[1:]


def _part(value: Value | None, part: int) -> int | None:
    return value[part] if isinstance(value, tuple) and part < len(value) else None


def _text(value: Value) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
