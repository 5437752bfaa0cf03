"""split: one loop becomes several nested ones."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.nest import Function, Loop, Node
from explorer.model.refs import LoopRef
from explorer.primitives.base import Offer, Step


class Split(Step, frozen=True, tag="split"):
    """Split a loop into nested loops whose extents are `factors`, outermost first.

    Before: `for i in range(1024)`; after `factors=[None, 128]`: `for i_0, i_1 in T.grid(8, 128)`.
    At most one factor may be None: TVM infers it, rounding up and guarding the tail.
    """

    MENU: ClassVar[str] = "Shape the loop"
    BY_NAME: ClassVar[frozenset[str]] = frozenset({"factors"})

    loop: LoopRef
    factors: tuple[int | None, ...]
    preserve_unit_iters: bool = True
    disable_predication: bool = False

    @classmethod
    def offers(cls, function: Function, node: Node) -> list[Offer]:
        """A form, with the usual inner sizes first; see `suggested_factors`."""
        if not isinstance(node, Loop) or node.ref is None or node.inside_block:
            return []
        return [Offer(op="split", label="Split…", group=cls.MENU, known={"loop": node.ref}, key="s")]


def suggested_factors(extent: int | None) -> list[int]:
    """Inner sizes worth offering for a loop of `extent` iterations: divisors first, then warps.

    Powers of two from 2 to 1024 that divide, then other divisors up to 1024, then 32 to 256 even
    where they leave a tail.
    """
    warps = [32, 64, 128, 256]
    if extent is None:
        return warps
    divisors = [n for n in range(2, min(extent, 1024) + 1) if extent % n == 0 and n < extent]
    powers = [n for n in divisors if n & (n - 1) == 0]
    rest = [n for n in divisors if n not in powers]
    tails = [n for n in warps if n < extent and n not in divisors]
    return powers + rest + tails
