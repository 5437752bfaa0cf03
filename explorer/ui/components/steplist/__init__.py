"""The steps of a variant as lines of Python: undo, redo, go back or forward, remove any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.ui.components.load import Callback, component

_HTML = """<div class="st"><div class="bar"><h3></h3>
<button type="button" class="undo" aria-keyshortcuts="u">Undo<kbd>u</kbd></button>
<button type="button" class="redo" aria-keyshortcuts="y">Redo<kbd>y</kbd></button></div>
<p class="none">Each action becomes one line of Python here.</p>
<ol class="sl" aria-label="Steps"></ol></div>"""

_component = component(Path(__file__).parent, _HTML)


def steplist(rows: list[dict[str, Any]], *, key: str, height: int, on_action: Callback) -> None:
    """Show rows {"line", "state", "why", "details"}; `on_action` runs when `action` fires.

    `state` is "done", "undone" or "refused".  `action` is {"do": "jump", "count"},
    {"do": "remove", "at"}, {"do": "undo"} or {"do": "redo"}; the letters U and Y do the last two
    wherever nothing is being typed.
    """
    _component(
        key=key, height="content", data={"rows": rows, "height": height},
        on_action_change=on_action,
    )  # fmt: skip
