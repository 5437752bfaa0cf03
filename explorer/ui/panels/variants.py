"""The strip of variants with their verdicts, and what can be done with variants as such."""

from __future__ import annotations

import streamlit as st

from explorer.ui import ask, moves, say, state
from explorer.ui import desk as desks
from explorer.ui.components.variantstrip import variantstrip
from explorer.ui.desk import ORIGINAL, Desk
from explorer.ui.words import Badge

NEW = {
    "default_gpu": "DefaultGPUSchedule",
    "dlight": "dlight: first rule that applies",
    "empty": "Empty schedule",
}


def results(desk: Desk) -> dict[str, ask.Result]:
    """What is known of every variant now, asking for what is missing."""
    return {name: ask.result(desk, name) for name in desks.names(desk)}


def draw(desk: Desk, found: dict[str, Badge]) -> None:
    """Tabs, then New and the menu of the current one."""
    with st.container(horizontal=True, vertical_alignment="center", key="strip", gap="small"):
        tabs = [
            {"name": name, "badge": b.text, "tone": b.tone, "why": b.why}
            for name, b in found.items()
        ]
        with st.container():
            variantstrip(tabs, desk.variant, key="variants", on_show=_show)
        st.menu_button(
            "New variant", list(NEW), format_func=NEW.__getitem__, key="new", on_click=_new
        )
        # Its own for each variant, so that it closes: a second click deletes nothing else.
        with st.popover(
            "Edit", key=f"edit_{desk.variant}", help="Rename, duplicate or delete this variant"
        ):
            _edit(desk)


def _show() -> None:
    name = state.fired("variants", "show")
    if name:
        state.do(desks.show, name)


def _new() -> None:
    what = st.session_state["new"]
    if what == "empty":
        state.do(desks.new_variant, desks.MANUAL)
    elif what:
        state.do(moves.strategy, what)


def _edit(desk: Desk) -> None:
    original = desk.variant == ORIGINAL

    def rename() -> None:
        state.do(desks.rename, st.session_state[f"rename_{desk.variant}"])

    if original:
        say.note("The original is never changed. Duplicate it to work on a copy.")
    else:
        st.text_input(
            "Name", value=desk.variant, key=f"rename_{desk.variant}", on_change=rename,
            max_chars=desks.NAME_CHARS,
        )  # fmt: skip
    with st.container(horizontal=True):
        st.button("Duplicate", on_click=state.do, args=(desks.duplicate,), key="duplicate")
        st.button(
            "Delete", on_click=state.do, args=(desks.delete,), disabled=original,
            key=f"delete_{desk.variant}",
        )  # fmt: skip
