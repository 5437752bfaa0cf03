"""An invisible component that tells graph and code panes what is selected, lit and on the menu."""

from __future__ import annotations

from pathlib import Path

from explorer.primitives import Offer
from explorer.ui.components.load import component

_component = component(Path(__file__).parent, '<div class="link" hidden></div>')


def link(
    *,
    key: str,
    selected: str | None,
    offers: list[Offer],
    lit: tuple[str, ...] = (),
    marks: dict[str, list[list[int]]] | None = None,
) -> None:
    """Send a few hundred bytes instead of the picture and the code again.

    `offers` is the menu of `selected`; `lit` are nodes that need attention; `marks` are line
    ranges by pane for the selected node where the pane's own map has none (CUDA).
    """
    menu = [
        {"op": o.op, "label": o.label, "group": o.group, "key": o.key, "refusal": o.refusal}
        for o in offers
    ]
    _component(
        key=key,
        height=1,
        data={
            "selected": selected, "node": selected, "menu": menu, "lit": list(lit),
            "marks": marks or {},
        },
    )  # fmt: skip
