"""What was seen in runs, as one verdict in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from explorer.emulator.lines import source_line
from explorer.emulator.machine import Actor, Event, Report
from explorer.model.result import Check, CheckStatus


@dataclass
class Words:
    """Turns events into sentences; knows shapes of buffers and the text of the kernels."""

    library: Path
    text: str
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def fatal(self, report: Report) -> tuple[CheckStatus, str]:
        """Status and sentence for the event that ended a run."""
        event = report.fatal_detail or Event()
        where = self._who(event.who)
        kind = report.fatal
        if kind == "cannot_launch":
            return "not_checked", f"Cannot launch: {event.kernel} has {event.why}."
        if kind == "out_of_bounds":
            return "out_of_bounds", f"{self._outside(event)}{self._by(event.who)}."
        if kind == "misaligned":
            return "out_of_bounds", (
                f"Misaligned access: {event.bytes} bytes at byte {event.offset} of {event.buffer}"
                f"{self._by(event.who)}; a GPU stops with a misaligned address."
            )
        if kind == "array_bounds":
            what = f"Index {event.index} is" if not event.address else "An access by pointer is"
            return "out_of_bounds", (
                f"{what} outside an array of type {event.type}{self._by(event.who)}"
                f"{self._line(event.line)}."
            )
        if kind == "deadlock":
            return "deadlock", self._deadlock(event)
        if kind == "limit":
            return "deadlock", f"A hang: {where or 'the kernel'} still runs at the time limit."
        if kind == "cp_async":
            return "mismatch", f"An asynchronous copy is never waited for by {where}."
        if kind == "trap":
            return "mismatch", f"{event.why[:1].upper()}{event.why[1:]}{self._line(event.line)}."
        if kind == "arithmetic":
            return "not_checked", f"An integer division by zero in {where}: undefined on a GPU."
        place = where or event.kernel or "the kernel"
        return "not_checked", f"The emulator could not go on in {place} ({event.why or kind})."

    def race(self, event: Event) -> str:
        """The sentence for a race: the element and the two threads."""
        assert event.who is not None
        assert event.other is not None
        same = "" if event.who.block == event.other.block else " of another block"
        return (
            f"Race on {self._element(event)}: {self._who(event.other)} {_past(event.other.verb)} "
            f"and {self._who(event.who)}{same} {_past(event.who.verb)} without a barrier between"
            f"{self._at(event.other)}{self._at(event.who)}."
        )

    def _deadlock(self, event: Event) -> str:
        line = self._line(event.line)
        if event.why == "barrier":
            return (
                f"A barrier that not all threads reach: {event.arrived} of {event.threads} threads "
                f"wait at __syncthreads() in {event.kernel}, the others have ended{line}."
            )
        if event.why == "barriers":
            return (
                f"Threads of one block wait at different barriers in {event.kernel}{line}"
                f"{self._line(event.other_line)}."
            )
        if event.why == "own_mask":
            return f"A thread is not in the mask {event.mask} it passes{self._by(event.who)}{line}."
        if event.why == "matrix":
            return f"A matrix operation without all 32 lanes of a warp{self._by(event.who)}{line}."
        return (
            f"A warp operation waits for lanes of its mask {event.mask} that never come"
            f"{self._by(event.who)}{line}."
        )

    def _outside(self, event: Event) -> str:
        verb = {"read": "Read", "write": "Write", "atomic": "Atomic access"}.get(
            event.who.verb if event.who else "", "Access"
        )
        if not event.buffer:
            return f"{verb} at address {event.address:#x}, outside every buffer"
        count = event.size // event.elem
        index = event.offset // event.elem
        kind = "shared array" if event.shared else "buffer"
        return f"{verb} outside {kind} {event.buffer}: element {index}, it has {count}"

    def _element(self, event: Event) -> str:
        index = event.offset // event.elem
        shape = self.shapes.get(event.buffer)
        name = event.buffer
        if shape and not event.shared and index < int(np.prod(shape, dtype=np.int64)):
            at = ", ".join(str(int(i)) for i in np.unravel_index(index, shape))
            return f"{name}[{at}]"
        kind = "shared " if event.shared else ""
        return f"{kind}{name}[{index}]"

    def _who(self, who: Actor | None) -> str:
        if who is None:
            return ""
        return f"thread {_triple(who.thread)} of block {_triple(who.block)}"

    def _by(self, who: Actor | None) -> str:
        return "" if who is None else f", by {self._who(who)}{self._at(who)}"

    def _at(self, who: Actor) -> str:
        _, line = source_line(self.library, who.pc, self.text)
        return f" (`{_short(line)}`)" if line else ""

    def _line(self, number: int) -> str:
        lines = self.text.splitlines()
        if not 0 < number <= len(lines):
            return ""
        return f" (`{_short(' '.join(lines[number - 1].split()))}`)"


_RANK: dict[CheckStatus, int] = {
    "out_of_bounds": 5, "race": 4, "deadlock": 3, "mismatch": 2, "not_checked": 1, "match": 0,
}  # fmt: skip


def worse(a: Check | None, b: Check) -> Check:
    """The verdict that says more against the kernel."""
    return b if a is None or _RANK[b.status] > _RANK[a.status] else a


def _triple(at: tuple[int, int, int]) -> str:
    return f"({at[0]}, {at[1]}, {at[2]})"


def _past(verb: str) -> str:
    words = {"read": "read it", "write": "wrote it", "atomic": "updated it atomically"}
    return words.get(verb, verb)


def _short(line: str) -> str:
    return line if len(line) <= 100 else line[:97] + "…"
