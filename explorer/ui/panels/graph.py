"""The loop nest as a clickable graph."""

from __future__ import annotations

import streamlit as st

from explorer.errors import ToolMissing
from explorer.model.nest import Nest
from explorer.ui import desk as desks
from explorer.ui import moves, say, state
from explorer.ui.components.loopgraph import loopgraph, nest_dot
from explorer.ui.desk import Desk

EVERYTHING_UP_TO = 90
"""Above this many nodes only one of several functions is drawn, until all are asked for."""
PICKER_HEIGHT = 56
BUFFERS = "buffers_shown"


def draw(desk: Desk, nest: Nest, height: int) -> None:
    """Function picker where there are several, graph."""
    shown, buffers = drawn(desk, nest), bool(st.session_state.get(BUFFERS))
    if len(nest.functions) > 1:
        _functions(nest, shown)
        height -= PICKER_HEIGHT
    try:
        loopgraph(
            nest_dot(nest, only=shown, buffers=buffers), key="graph", height=height,
            buffers=buffers, on_pick=_pick, on_action=_act, on_buffers=_buffers,
        )  # fmt: skip
    except ToolMissing as error:
        say.problem(error.problem)


def drawn(desk: Desk, nest: Nest) -> str:
    """The function to draw alone, or "" for all of them."""
    known = [function.name for function in nest.functions]
    if desk.only in known:
        return desk.only
    many = sum(len(function.nodes) for function in nest.functions) > EVERYTHING_UP_TO
    return known[0] if many and len(known) > 1 and not desk.only else ""


def _functions(nest: Nest, shown: str) -> None:
    options = ["*", *(function.name for function in nest.functions)]

    def change() -> None:
        state.do(desks.narrow, st.session_state["function"])

    st.selectbox(
        "Function", options, index=options.index(shown or "*"), key="function", on_change=change,
        format_func=lambda name: "All functions" if name == "*" else name,
        label_visibility="collapsed",
    )  # fmt: skip


def _pick() -> None:
    picked = state.fired("graph", "pick")
    if picked is not None:
        state.do(desks.select, picked.get("node") or None)


def _act() -> None:
    """The graph alone is drawn at once; the browser then asks for the rest."""
    action = state.fired("graph", "action")
    if action:
        state.made(moves.graph_action, action)


def _buffers() -> None:
    wished = state.fired("graph", "buffers")
    if wished is not None:
        st.session_state[BUFFERS] = bool(wished["shown"])
