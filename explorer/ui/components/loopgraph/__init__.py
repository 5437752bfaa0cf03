"""The clickable, keyboard-operable loop-nest graph."""

from __future__ import annotations

from pathlib import Path

from explorer.ui.components.load import Callback, component
from explorer.ui.components.loopgraph.dot import nest_dot
from explorer.ui.components.loopgraph.layout import render_svg

_HTML = """<div class="lg"><div class="lg-view"></div>
<details class="lg-legend"><summary>Legend</summary><ul>
<li class="m-blockIdx">blockIdx</li><li class="m-threadIdx">threadIdx</li>
<li class="m-vthread">vthread</li><li class="m-vectorized">vectorized</li>
<li class="m-unrolled">unrolled</li><li class="m-parallel">parallel</li>
<li class="m-serial">serial loop</li><li class="i-reduction">reduction</li>
<li class="block">block</li><li class="buffer">buffer</li><li class="lit">needs attention</li></ul>
<p>Arrows move, Enter selects, M opens the menu, letters in the menu act at once.
Ctrl+wheel zooms, drag pans.</p></details>
<div class="lg-bar"><button type="button" class="lg-buffers" hidden>Buffers</button>
<button type="button" class="lg-out" aria-label="Zoom out">−</button>
<button type="button" class="lg-fit" aria-label="Fit to view">Fit</button>
<button type="button" class="lg-in" aria-label="Zoom in">+</button>
<button type="button" class="lg-full" aria-label="Full screen" title="Full screen">
<svg viewBox="0 0 12 12" width="12" aria-hidden="true"><path d="M1 4V1h3M8 1h3v3M11 8v3H8M4 11H1V8"
fill="none" stroke="currentColor" stroke-width="1.5"/></svg></button></div>
</div>"""

_component = component(Path(__file__).parent, _HTML)


def loopgraph(
    dot: str, *, key: str, height: int, on_pick: Callback, on_action: Callback,
    buffers: bool = False, on_buffers: Callback | None = None, label: str = "Loop nest",
    channel: str = "",
) -> None:  # fmt: skip
    """Draw a DOT text; `on_pick`, `on_action` and `on_buffers` run when that event fires.

    `pick` is {"node": id or ""}; `action` is {"node", "key"} for a letter, {"node", "op",
    "label"} for a menu item; `buffers` is {"shown"}, fired by a switch that there is only with
    `on_buffers` and that `buffers` sets.  Selection, menus and marks come from the `link`
    component, so that a click does not send the picture again.  A graph with a `channel` is looked
    at only: it marks code panes of that channel and fires nothing.  Raises ToolMissing when it
    can't be laid out.
    """
    _component(
        key=key,
        height=height,
        data={
            "svg": render_svg(dot),
            "height": height,
            "label": label,
            "channel": channel,
            "buffers": buffers if on_buffers is not None else None,
            "sideways": "rankdir=LR" in dot,
        },
        on_pick_change=on_pick,
        on_action_change=on_action,
        **({"on_buffers_change": on_buffers} if on_buffers is not None else {}),
    )


__all__ = ["loopgraph", "nest_dot"]
