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
from explorer.ui.components.steplist import steplist
from explorer.ui.desk import Desk
from explorer.ui.words import buffer_facts, facts_html, node_facts, node_title

STEPS_HEIGHT = 216
LINE_CHARS = 160


def draw(desk: Desk, view: View, found: list[Offer], height: int) -> None:
    """The selection above, the steps below."""
    place = f"inspector-{desk.selected}-{desk.form.op if desk.form else ''}"
    with st.container(height=height - STEPS_HEIGHT - 16, border=True, key=place):
        node = desks.selected_node(desk, view.nest)
        if node is not None:
            _node(desk, *node, found)
        elif not _buffer(desk, view.nest):
            _nothing(view.nest)
    with st.container(height=STEPS_HEIGHT, border=True, key="steps"):
        _steps(desk, view)


def _node(desk: Desk, function: Function, node: Node, found: list[Offer]) -> None:
    _titled(node_title(node), facts_html(node_facts(node)))
    _refused(state.notice())
    form = desk.form
    if form is not None and form.node == node.id:
        offer = next((o for o in found if (o.op, o.label) == (form.op, form.label)), None)
        if offer is not None:
            _form(offer, function, node)
            return
    groups = list(dict.fromkeys(offer.group for offer in found))
    for group in groups:
        _group(group, [offer for offer in found if offer.group == group])
    if not found:
        note = function.note or "Nothing can be scheduled here."
        st.html(f'<p class="why">{html.escape(note)}</p>')


def _group(group: str, found: list[Offer]) -> None:
    """One heading with its buttons; what is refused stays visible, with each reason once."""
    st.html(f'<div class="group">{html.escape(group)}</div>')
    free = [offer for offer in found if not offer.refusal]
    if free:
        with st.container(horizontal=True, gap="xxsmall"):
            for offer in found:
                label = say.plain(offer.label.removeprefix("Bind to "))
                st.button(
                    f"{label} :gray[{offer.key}]" if offer.key else label,
                    key=f"offer_{offer.op}_{offer.label}", disabled=bool(offer.refusal),
                    help=say.plain(offer.refusal) or None,
                    on_click=state.do, args=(moves.take, offer),
                )  # fmt: skip
    if told := refusals_html(found):
        st.html(told)


def refusals_html(found: list[Offer]) -> str:
    """Why some can't be done: one reason as it is, several folded under how many there are."""
    reasons = list(dict.fromkeys(offer.refusal for offer in found if offer.refusal))
    lines = "".join(f'<p class="why">{html.escape(reason)}</p>' for reason in reasons)
    if len(reasons) < 2:
        return lines
    count = sum(bool(offer.refusal) for offer in found)
    return f'<details class="why"><summary>Why {count} are not possible</summary>{lines}</details>'


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
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        count = len(current.steps)
        title = f"Steps ({count})" if count else "Steps"
        st.html(f'<span class="group">{title}</span>', width="stretch")
        st.button(
            "Undo", key="undo", on_click=state.do, args=(desks.undo,), shortcut="u",
            disabled=not current.steps,
        )  # fmt: skip
        st.button(
            "Redo", key="redo", on_click=state.do, args=(desks.redo,), shortcut="y",
            disabled=not current.undone,
        )  # fmt: skip
    if not current.steps and not current.undone:
        st.html('<p class="why">Each action becomes one line of Python here.</p>')
        return
    rows = [_row(*both) for both in zip(view.steps, current.steps, strict=True)]
    rows += [
        {"line": short(step), "state": "undone", "why": "", "details": ""}
        for step in current.undone
    ]
    steplist(rows, key="steplist", height=STEPS_HEIGHT - 84, on_action=_step_action)


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
    if action.get("do") == "jump":
        state.do(desks.jump, int(action["count"]))
    elif action.get("do") == "remove":
        state.do(desks.remove, int(action["at"]))
