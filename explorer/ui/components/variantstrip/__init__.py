"""The variants as tabs, each with its verdict."""

from __future__ import annotations

from pathlib import Path

from explorer.ui.components.load import Callback, component

_component = component(
    Path(__file__).parent, '<div class="vs" role="tablist" aria-label="Variants"></div>'
)


def variantstrip(tabs: list[dict[str, str]], current: str, *, key: str, on_show: Callback) -> None:
    """Show tabs {"name", "badge", "tone", "why"}; `on_show` runs when `show` fires with a name."""
    _component(
        key=key, height="content", data={"tabs": tabs, "current": current}, on_show_change=on_show
    )
