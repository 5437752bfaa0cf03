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


def draw(desk: Desk, nest: Nest, height: int) -> None:
    """Function picker, buffer switch, graph."""
    with st.container(horizontal=True, vertical_alignment="center", key="graph_bar", gap="small"):
        shown = _functions(desk, nest)
        buffers = st.toggle("Buffers", key="buffers")
    try:
        dot = nest_dot(nest, only=shown, buffers=buffers)
        loopgraph(dot, key="graph", height=height, on_pick=_pick, on_action=_act)
    except ToolMissing as error:
        say.problem(error.problem)


def drawn(desk: Desk, nest: Nest) -> str:
    """The function to draw alone, or "" for all of them."""
    known = [function.name for function in nest.functions]
    if desk.only in known:
        return desk.only
    many = sum(len(function.nodes) for function in nest.functions) > EVERYTHING_UP_TO
    return known[0] if many and len(known) > 1 and not desk.only else ""


def _functions(desk: Desk, nest: Nest) -> str:
    shown = drawn(desk, nest)
    names = [function.name for function in nest.functions]
    if len(names) < 2:
        with st.container(width="stretch"):
            st.html('<span class="group">Loop nest</span>')
        return shown
    options = ["*", *names]

    def change() -> None:
        state.do(desks.narrow, st.session_state["function"])

    st.selectbox(
        "Function", options, index=options.index(shown or "*"), key="function", on_change=change,
        format_func=lambda name: "All functions" if name == "*" else name,
        label_visibility="collapsed",
    )  # fmt: skip
    return shown


def _pick() -> None:
    picked = state.fired("graph", "pick")
    if picked is not None:
        state.do(desks.select, picked.get("node") or None)


def _act() -> None:
    action = state.fired("graph", "action")
    if action:
        state.do(moves.graph_action, action)
