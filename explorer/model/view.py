"""A variant replayed: the nest and TVMScript after its steps, and what each step did."""

from __future__ import annotations

from typing import Any

import msgspec

from explorer.errors import Problem, Refusal
from explorer.model.nest import Nest
from explorer.model.result import RuleOutcome


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step as shown: the lines of Python it is, and why it no longer applies, if so.

    The last line is the primitive itself; lines before it fetch blocks and loops.
    """

    lines: tuple[str, ...]
    refusal: Refusal | None = None


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The state after a variant's steps; refused steps are skipped and say why."""

    nest: Nest
    script: str
    steps: tuple[StepView, ...]


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What a strategy or a schedule file comes to.

    `steps` are plain step objects as JSON values (decode with `explorer.primitives`), to be put
    behind the steps they were asked for.  `manual` tells that they are primitives proved
    to give the strategy's own module (structural equality); else they are one opaque step.
    """

    steps: list[Any]
    outcomes: tuple[RuleOutcome, ...] = ()
    manual: bool = True
    note: str = ""
    refusal: Problem | None = None
    """Where a schedule file was refused; `steps` are those before that line."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """A file to save.  `verified` says how it was shown to reproduce the variant."""

    name: str
    text: str
    verified: str
