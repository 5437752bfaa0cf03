"""Parts of the page that are drawn on their own: a click draws what it changes, not the page.

A region is a Streamlit fragment that reads the desk itself, so that it never shows an old one.
A control without a callback of `state.do` draws its own region; the browser then asks for what
else is behind.  One clock on the page has those drawn again that wait for an answer.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.ui import state
from explorer.ui.components.pulse import pulse
from explorer.ui.desk import Desk
from explorer.ui.drawn import REGIONS, Region

NEWS_MS = 400


def region(name: Region, part: Callable[[Desk], bool]) -> None:
    """Draw `part` in a fragment of that name; while it returns True it is drawn again at news."""

    def draw() -> None:
        desk = state.desk()
        if desk is None:
            return
        drawn, asked = state.drawn(), state.background().finished
        drawn.begin(name, desk, state.notice())
        drawn.waits(name, asked if part(desk) else None)
        drawn.controls = state.controls()
        if drawn.missed(desk, state.notice()):
            with st.container(key=f"unseen_{name}"):
                st.fragment(_ask_for_rest)(name, drawn.turn)

    st.fragment(draw, key=name)()


def _ask_for_rest(name: Region, turn: int) -> None:
    """Have the browser ask for what is behind, once it shows what was drawn with this."""
    pulse(key=f"rest_{name}", turn=turn, on_tick=state.redraw)


def clock(_: Desk) -> bool:
    """The part that ticks for as long as another one waits."""
    if state.drawn().ticking:
        pulse(key="pulse", every_ms=NEWS_MS, on_tick=_tick)
    return False


def _tick() -> None:
    """Draw the regions for which a question was answered since; the clock alone without news.

    A click that comes with the tick is one interaction with it, whose drawing this would replace.
    """
    if state.drawn().touched(state.controls()):
        state.draw(list(REGIONS))
    if behind := state.drawn().behind(state.background().finished):
        state.draw(behind)
