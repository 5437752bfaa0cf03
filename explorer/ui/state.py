"""What a browser tab holds: the desk, the last notice, which screen is up.  Panels read no more of
`st.session_state` than their own controls.

A panel hangs `do(move, …)` on a control: the move runs before anything is drawn, then the regions
of the page that show something else by now are drawn, the graph first.  Whatever the user can
repair becomes a notice; the desk stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from explorer.errors import Problem, UserError
from explorer.ui import keep
from explorer.ui.background import Background
from explorer.ui.desk import Desk
from explorer.ui.drawn import Drawn, Region
from explorer.ui.races import Entry, Kind, Races

Screen = Literal["bench", "open"]


@st.cache_resource
def background() -> Background:
    """Answers of the workers, one collection for all browser tabs."""
    return Background()


@st.cache_resource
def races() -> Races:
    """Races and studies of all browser tabs, and what they measured."""
    return Races()


def begin(kind: Kind, entry: Entry) -> None:
    """Start a race or study for this tab."""
    races().start(tab_id(), kind, entry)


@st.cache_resource
def shelf() -> keep.Shelf:
    """Experiments of all browser tabs."""
    return keep.Shelf(keep.folder())


def desk() -> Desk | None:
    """What this tab works on; None before anything was opened."""
    found = st.session_state.get("desk")
    return found if isinstance(found, Desk) else None


def put(desk: Desk) -> None:
    """Work on `desk` from now on, and keep its experiment under this tab's id."""
    st.session_state["desk"] = desk
    shelf().put(tab_id(), desk.experiment)


def do(move: Callable[..., Desk], *args: Any) -> None:
    """A control's callback: make a move, then draw what changed.  Nothing after it runs."""
    made(move, *args)
    redraw()


def made(move: Callable[..., Desk], *args: Any) -> None:
    """Make a move on the desk; a UserError becomes the notice and changes nothing."""
    before = desk()
    if before is None:
        return
    dismiss()
    background().forgive()
    try:
        put(move(before, *args))
    except UserError as error:
        tell(error.problem)


def redraw() -> None:
    """In a callback: draw the regions that show something else by now."""
    if _late() or drawn().unheard:
        draw([])


def draw(regions: list[Region]) -> None:
    """In a callback: draw these regions and those that are behind, in one run and nothing else.

    A clock's last tick may come when the workbench has left the screen: there is nothing to draw.
    """
    if not drawn().whole:
        st.rerun()
    if screen() == "bench":
        st.rerun(drawn().plan([*regions, *_late()]))


def controls() -> dict[str, Any]:
    """The values of this tab's plain controls (components, uploads and the like are left out)."""
    return {
        str(key): value for key, value in st.session_state.items()
        if isinstance(value, (str, int, float, list, tuple))
    }  # fmt: skip


def control(name: str) -> str:
    """The key of a control that the page sets by itself, too: another one after each `preset`."""
    turn = st.session_state.get(f"presets of {name}", 0)
    return f"{name} {turn}" if turn else name


def preset(name: str, value: str) -> None:
    """In a callback: have the control that `control(name)` is the key of show `value`.

    What the browser sends before it hears of this (a tick of the clock, a quick second click) says
    how the control was, and would win; it says so of the key before.
    """
    st.session_state[f"presets of {name}"] = st.session_state.get(f"presets of {name}", 0) + 1
    st.session_state[control(name)] = value


def _late() -> list[Region]:
    now = desk()
    return drawn().owed(now, notice()) if now is not None else []


def drawn() -> Drawn:
    """What the regions of this tab's page were drawn for."""
    found: Drawn = st.session_state.setdefault("drawn", Drawn())
    return found


def tab_id() -> str:
    """This tab's id, from the address or a fresh one."""
    if "id" not in st.session_state:
        st.session_state["id"] = st.query_params.get("e") or keep.new_id()
    return str(st.session_state["id"])


def tell(problem: Problem) -> None:
    """Show a notice until the next move."""
    st.session_state["notice"] = problem


def notice() -> Problem | None:
    """What the last move ran into."""
    return st.session_state.get("notice")


def dismiss() -> None:
    """Take the notice away."""
    st.session_state.pop("notice", None)


def dismissed() -> None:
    """A control's callback: take the notice off the page."""
    dismiss()
    redraw()


def again() -> None:
    """A control's callback: ask again what a dead worker left, and draw everything."""
    background().forgive()
    st.rerun()


def screen() -> Screen:
    """Which screen is up."""
    return "open" if st.session_state.get("screen") == "open" else "bench"


def go(screen: Screen) -> None:
    """A control's callback: change the screen."""
    st.session_state["screen"] = screen
    dismiss()
    st.rerun()


def fired(key: str, event: str) -> Any:
    """What a component of that key fired in this run, or None."""
    result = st.session_state.get(key)
    return getattr(result, event, None) if result is not None else None
