"""What is selected, what can be done with it, and the steps so far."""

from __future__ import annotations

import html
from textwrap import shorten
from typing import Any

import streamlit as st

from explorer.errors import Problem
from explorer.model.nest import Function, Nest, Node
from explorer.model.view import StepView, View
from explorer.primitives import Offer
from explorer.ui import desk as desks
from explorer.ui import forms, moves, say, state
from explorer.ui.components.offers import offers
from explorer.ui.components.steplist import steplist
from explorer.ui.desk import Desk
from explorer.ui.words import buffer_facts, facts_html, node_facts, node_title

STEPS_HEIGHT = 216
LINE_CHARS = 160
MOST_PARTS = 5
"""Of what is drawn of a selected node."""


def draw(desk: Desk, view: View, found: list[Offer], height: int) -> None:
    """The selection above, the steps below."""
    place = f"inspector-{desk.selected}-{desk.form.op if desk.form else ''}"
    with st.container(height=height - STEPS_HEIGHT - 16, border=True, key=place):
        node = desks.selected_node(desk, view.nest)
        if node is not None:
            _node(desk, *node, found)
        elif not _buffer(desk, view.nest):
            _nothing(view.nest)
        if node is None:
            for _ in range(MOST_PARTS):  # what an earlier selection left, should the run be cut
                st.empty()
    with st.container(height=STEPS_HEIGHT, border=True, key="steps"):
        _steps(desk, view)


def _node(desk: Desk, function: Function, node: Node, found: list[Offer]) -> None:
    _titled(node_title(node), facts_html(node_facts(node)))
    _refused(state.notice())
    form = desk.form
    if form is not None and form.node == node.id:
        offer = moves.offered(found, form.op, form.label)
        if offer is not None:
            _form(offer, function, node)
            return
    if found:
        offers(found, key="offers", on_take=_take)
    else:
        say.note(function.note or "Nothing can be scheduled here.")


def _take() -> None:
    taken = state.fired("offers", "take")
    if taken:
        state.do(moves.take_named, taken["op"], taken["label"])


def _form(offer: Offer, function: Function, node: Node) -> None:
    def send(given: dict[str, Any]) -> None:
        state.do(moves.fill, offer, given, function)

    forms.step_form(offer, function, node, f"form_{node.id}_{offer.op}", send)
    st.button("Cancel", on_click=state.do, args=(desks.close_form,), key="cancel_form")


def _refused(problem: Problem | None) -> None:
    """A refusal is explained where the control is."""
    if problem is None or problem.kind != "StepRefused":
        return
    say.problem(problem, "warn")


def _buffer(desk: Desk, nest: Nest) -> bool:
    name, at, buffer = (desk.selected or "").partition("#")
    function = nest.function(name) if at else None
    found = [b for b in function.buffers if b.name == buffer] if function is not None else []
    if not found:
        return False
    _titled(f"Buffer {buffer}", facts_html(buffer_facts(found[0])))
    return True


def _nothing(nest: Nest) -> None:
    _titled(
        "Nothing selected",
        '<p class="why">Click a loop or a block in the graph: what can be done with it appears '
        "here. Right-click, double-click or M opens the same as a menu.</p>",
    )
    for function in nest.functions:
        if function.note:
            st.html(f'<p class="why">{html.escape(f"{function.name}: {function.note}")}</p>')


def _titled(title: str, body_html: str) -> None:
    st.html(f'<div class="node-title">{html.escape(title)}</div>{body_html}')


def _steps(desk: Desk, view: View) -> None:
    current = desk.current
    rows = [_row(*both) for both in zip(view.steps, current.steps, strict=True)]
    rows += [
        {"line": short(step), "state": "undone", "why": "", "details": ""}
        for step in current.undone
    ]
    steplist(rows, key="steplist", height=STEPS_HEIGHT - 78, on_action=_step_action)


def _row(step: StepView, asked: object) -> dict[str, str]:
    """A step's line of Python; one that could not be replayed has its name and arguments."""
    written = step.lines[-1] if step.lines else short(asked)
    line = shorten(written, LINE_CHARS, placeholder=" …")
    if step.refusal is None:
        return {"line": line, "state": "done", "why": "", "details": ""}
    why, details = step.refusal.sentence(), step.refusal.details
    return {"line": line, "state": "refused", "why": why, "details": details}


def short(step: object) -> str:
    """A step that is not replayed now, by its name and arguments."""
    fields = getattr(step, "__struct_fields__", ())
    shown = ", ".join(str(getattr(step, name)) for name in fields)
    return f"{type(step).op()}({shown})"[:120]  # type: ignore[attr-defined]


def _step_action() -> None:
    action = state.fired("steplist", "action") or {}
    what = action.get("do")
    if what in ("undo", "redo"):
        state.do(desks.undo if what == "undo" else desks.redo)
    elif what == "jump":
        state.do(desks.jump, int(action["count"]))
    elif what == "remove":
        state.do(desks.remove, int(action["at"]))
