"""What a hand is asked to make, and what it made: plain values."""

from __future__ import annotations

import msgspec

Value = int | tuple[int, ...]
Decisions = tuple[tuple[int, Value], ...]
"""Instruction index in the design's trace and what was decided there, as in TVM's trace JSON."""


class Gene(msgspec.Struct, frozen=True, omit_defaults=True):
    """What makes a candidate: its design and decisions.

    `trace` is the whole trace (JSON), where a mutation changed more than decisions.
    """

    design: int
    decisions: Decisions = ()
    trace: str = ""


class Wanted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order: a seed by name, a mutation of `parent`, `gene` itself, or a sample of `design`.

    `seed`, from 1 to 2**31 - 1, decides everything that is left open.
    """

    seed: int
    design: int = -1
    parent: Gene | None = None
    parent_id: int = 0
    gene: Gene | None = None
    seed_name: str = ""


class Made(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an order.  `fate` is "" for a program that can be tried.

    `fate` else is "rejected" or "banned", with who refused it and a sentence why.  `digest` is the
    same for equal programs; `features` describe the program to the cost model.
    """

    gene: Gene
    fate: str = ""
    by: str = ""
    reason: str = ""
    origin: str = "sampled"
    digest: str = ""
    features: list[float] = []
