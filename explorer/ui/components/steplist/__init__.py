"""The steps of a variant as lines of Python: click to go back or forward, remove any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.ui.components.load import Callback, component

_component = component(Path(__file__).parent, '<ol class="sl" aria-label="Steps"></ol>')


def steplist(rows: list[dict[str, Any]], *, key: str, height: int, on_action: Callback) -> None:
    """Show rows {"line", "state", "why", "details"}; `on_action` runs when `action` fires.

    `state` is "done", "undone" or "refused".  `action` is {"do": "jump", "count"} or
    {"do": "remove", "at"}.
    """
    _component(
        key=key, height="content", data={"rows": rows, "height": height},
        on_action_change=on_action,
    )  # fmt: skip
