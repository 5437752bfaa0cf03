"""A table whose rows are picked by click or keyboard, and that stays calm while it is refreshed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from explorer.ui.components.load import Callback, component
from explorer.ui.words import Tone

_HTML = '<div class="pt"><table role="grid"><thead></thead><tbody></tbody></table><p></p></div>'
_component = component(Path(__file__).parent, _HTML)


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """A cell: its text, as a badge where it has a `tone`, before a bar of `share` (0 to 1)."""

    text: str = ""
    tone: Tone | None = None
    share: float | None = None
    why: str = ""


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row and its id; `why` is its tooltip."""

    id: str
    cells: tuple[Cell | str, ...]
    why: str = ""


def picktable(
    rows: Sequence[Row],
    *,
    key: str,
    label: str,
    on_pick: Callback,
    head: Sequence[str] = (),
    selected: str = "",
    height: int = 0,
    group: str = "",
    empty: str = "",
    wide: int = 0,
) -> None:
    """Show rows of plain text; `on_pick` runs when `pick` fires with {"id"}.

    `height` is the most it takes, in pixels (0: all it needs).  Rows that come or go while the
    pointer is over the table wait until it leaves, unless `group` names another list than before.
    `empty` stands where there are no rows; column `wide` takes the room that is left.
    """
    _component(
        key=key,
        height="content",
        data={
            "rows": msgspec.to_builtins(list(rows)), "head": list(head), "label": label,
            "selected": selected, "height": height, "group": group, "empty": empty,
            "wide": wide,
        },
        on_pick_change=on_pick,
    )  # fmt: skip


__all__ = ["Cell", "Row", "picktable"]
