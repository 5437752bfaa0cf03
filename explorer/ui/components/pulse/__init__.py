"""An invisible component that has the browser ask for more: at once, or again and again."""

from __future__ import annotations

from pathlib import Path

from explorer.ui.components.load import Callback, component

_component = component(Path(__file__).parent, '<div class="pulse" hidden></div>')


def pulse(*, key: str, on_tick: Callback, every_ms: int = 0, turn: int = 0) -> None:
    """Run `on_tick` every so many milliseconds while this is drawn and the page is seen.

    With 0 once for each `turn`, as soon as the browser has painted what came with it.
    """
    data = {"every": every_ms, "turn": turn}
    _component(key=key, height=1, data=data, on_tick_change=on_tick)
