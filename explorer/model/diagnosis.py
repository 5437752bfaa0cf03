"""What the bind doctor says: what is unbound, where, why that matters, and cures tried out."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from explorer.model.result import NOT_CHECKED, Check, RuleOutcome

CureOutcome = Literal["works", "helps", "fails"]


class ErrorText(msgspec.Struct, frozen=True, kw_only=True):
    """A pasted error message: what it means in a sentence, why it appears, what to do.

    `line` (1-based) and `excerpt` are where it stands in the text.
    """

    kind: str
    what: str
    why: str = ""
    do: str = ""
    line: int = 1
    excerpt: str = ""

    def sentence(self) -> str:
        """All of it in one line."""
        return " ".join(part for part in (self.what, self.why, self.do) if part)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that keeps a function from being kernels: where it is, in words and as a node."""

    function: str
    where: str
    node: str
    message: str
    do: str = ""
    """What to try by hand."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a cured function launches a kernel; extents in order x, y, z, as text."""

    function: str
    kernel: str
    grid: tuple[str, str, str]
    block: tuple[str, str, str]

    def words(self) -> str:
        """The launch as "4×2×1 blocks of 8×16×1 threads"."""
        return f"{'×'.join(self.grid)} blocks of {'×'.join(self.block)} threads"


class TriedCure(msgspec.Struct, frozen=True, kw_only=True):
    """A cure that was applied, built, compiled and checked.

    `steps` (JSON values) go behind the steps that the diagnosis was asked for.  It *works* when
    every function that is wanted on the GPU is a kernel and none was shown to be wrong, *helps*
    when some are and the others were not before either, and *fails* otherwise; `reason` says what
    is missing.
    """

    id: str
    label: str
    outcome: CureOutcome
    reason: str = ""
    steps: list[Any] = []
    launches: tuple[Launch, ...] = ()
    check: Check = NOT_CHECKED
    outcomes: tuple[RuleOutcome, ...] = ()

    @property
    def offered(self) -> bool:
        """Whether it may be offered: it gives kernels and none of them is known to be wrong."""
        return self.outcome != "fails"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a module: `what` in one sentence, `places`, `why` it matters, `cures` tried.

    `status` is "healthy" when all functions that are wanted on the GPU are kernels.
    """

    status: Literal["healthy", "ill"]
    what: str
    why: str = ""
    places: tuple[Place, ...] = ()
    cures: tuple[TriedCure, ...] = ()
    """What works first; cures that fail are last and say why."""
    error: ErrorText | None = None
    """What the pasted error message means, when the text held one."""
