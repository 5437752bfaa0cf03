"""Text whose lines remember where they came from, and edits that keep that memory."""

from __future__ import annotations

import msgspec


class Edit(msgspec.Struct, frozen=True, order=True):
    """Replace characters `start` to `end` (exclusive) of a text with `new`."""

    start: int
    end: int
    new: str


class Script(msgspec.Struct, frozen=True):
    """A text and, per line, the line (1-based) of the user's text that it came from."""

    text: str
    origin: tuple[int, ...]

    @staticmethod
    def of(text: str) -> Script:
        """A text as the user gave it: every line is its own origin."""
        return Script(text, tuple(range(1, text.count("\n") + 2)))

    @staticmethod
    def of_lines(lines: list[tuple[str, int]]) -> Script:
        """Join (line, origin) pairs."""
        return Script("\n".join(line for line, _ in lines), tuple(at for _, at in lines) or (1,))

    def lines(self) -> list[tuple[str, int]]:
        """All lines with their origins."""
        return list(zip(self.text.split("\n"), self.origin, strict=True))

    def line(self, at: int | None) -> int | None:
        """The user's line for line `at` (1-based) of this text; clamped to what there is."""
        if at is None:
            return None
        return self.origin[min(max(at, 1), len(self.origin)) - 1]

    def apply(self, edits: list[Edit]) -> Script:
        """The text after `edits`, which must not overlap; a new line has the origin of its start.

        Raises ValueError when two edits overlap.
        """
        pieces: list[str] = []
        origin: list[int] = []
        fresh = True  # the line being written has no text, and so no origin, yet

        def put(piece: str, line: int, kept: bool) -> None:
            nonlocal fresh
            for n, part in enumerate(piece.split("\n")):
                here = self.origin[min(line + (n if kept else 0), len(self.origin) - 1)]
                if n:
                    if fresh:
                        origin.append(self.origin[line + (n - 1 if kept else 0)])
                    fresh = True
                if part and fresh:
                    origin.append(here)
                    fresh = False
            pieces.append(piece)

        at = line = 0
        for edit in sorted(edits):
            if edit.start < at:
                raise ValueError(f"edits overlap at character {edit.start}")
            put(self.text[at : edit.start], line, True)
            line += self.text.count("\n", at, edit.start)
            put(edit.new, line, False)
            line += self.text.count("\n", edit.start, edit.end)
            at = edit.end
        put(self.text[at:], line, True)
        if fresh:
            origin.append(self.origin[-1])
        return Script("".join(pieces), tuple(origin))
