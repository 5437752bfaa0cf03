"""References to blocks and loops that survive other steps being added or removed.

A block is named by function, name and its position among the blocks of that name; a loop by a
block below it and its position in that block's loop list (outermost 0), with the name it had when
the reference was made.  Names repeat and change after split and fuse; positions don't lie.
"""

from __future__ import annotations

import re

import msgspec


class BlockRef(msgspec.Struct, frozen=True, order=True, tag="block", tag_field="ref"):
    """The `nth` block called `name` (pre-order, root blocks included) of function `func`."""

    name: str
    nth: int = 0
    func: str = "main"

    def __str__(self) -> str:
        nth = f"#{self.nth}" if self.nth else ""
        return f"{self.func}/{self.name}{nth}"


class LoopRef(msgspec.Struct, frozen=True, order=True, tag="loop", tag_field="ref"):
    """The loop at `depth` (outermost 0) of the loops around `block`; `name` is what it was called.

    `name` is empty when any loop at that place will do; otherwise a different loop there is
    refused, so that a step never lands on a loop the user did not mean.
    """

    block: BlockRef
    depth: int
    name: str = ""

    def __str__(self) -> str:
        return (
            f"{self.block}[{self.depth}]:{self.name}"
            if self.name
            else f"{self.block}[{self.depth}]"
        )


_TEXT = re.compile(
    r"(?P<func>[^/]+)/(?P<name>[^\[\]#]+)(#(?P<nth>\d+))?(?P<loop>\[(?P<depth>\d+)\](:(?P<at>.+))?)?"
)


def parse_ref(text: str) -> BlockRef | LoopRef | None:
    """A reference from its text form, e.g. "main/C", "main/C#1[0]:i"; None when it is neither."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    block = BlockRef(found["name"], int(found["nth"] or 0), found["func"])
    return LoopRef(block, int(found["depth"]), found["at"] or "") if found["loop"] else block
