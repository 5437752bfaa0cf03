"""merge: sibling nests become one."""

from __future__ import annotations

from typing import ClassVar

from explorer.model.refs import LoopRef
from explorer.primitives.base import Step
from explorer.primitives.fields import Field, ListField, LoopField


class Merge(Step, frozen=True, tag="merge"):
    """Merge loops of sibling nests, with one extent and at one depth, into one loop.

    Before:
        for i in range(128): [block B]
        for k in range(128): [block C]
    After `i_m = sch.merge(i, k)`:
        for i_m in range(128): [block B, block C]
    """

    MENU: ClassVar[str] = "Shape the loop"
    STARRED: ClassVar[str] = "loops"
    form: ClassVar[tuple[Field, ...]] = (
        ListField("loops", "Loops", item=LoopField("loop", "Loop"), least=2),
    )

    loops: tuple[LoopRef, ...]
