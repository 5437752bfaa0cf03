"""Let TVM schedule: a strategy or a single rule, on all functions or one; what each rule said."""

from __future__ import annotations

import html

import streamlit as st

from explorer import workbench
from explorer.model.nest import Nest
from explorer.model.result import RuleOutcome
from explorer.ui import moves, say, state
from explorer.ui.desk import Desk
from explorer.ui.words import Badge, Tone, badge_html, table_html

TONES: dict[str, Tone] = {"applied": "good", "declined": "calm", "failed": "bad", "skipped": "calm"}


def draw(desk: Desk, nest: Nest) -> None:
    """Pick what runs on what, run it, and read what the rules said."""
    functions = [f.name for f in nest.functions if f.schedulable]
    rules = workbench.rules()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Way", list(moves.STRATEGIES), format_func=moves.STRATEGIES.__getitem__, key="auto_way",
            width=220,
        )  # fmt: skip
        rule = st.selectbox(
            "Rule", ["", *rules], key="auto_rule", disabled=name != "dlight", width=220,
            format_func=lambda text: text or "all, in TVM's order",
        )  # fmt: skip
        function = st.selectbox(
            "Function", ["", *functions], key="auto_function", width=220,
            format_func=lambda text: text or "all",
        )  # fmt: skip
        behind = st.selectbox(
            "Starting from", [False, True], key="auto_behind", width=220,
            format_func=lambda after: f"{desk.variant}, as it is" if after else "the original",
            disabled=not desk.current.steps,
        )  # fmt: skip
        st.button(
            "Schedule as a new variant", key="auto_run", type="primary",
            on_click=state.do,
            args=(moves.strategy, name, function, rule if name == "dlight" else "", behind),
        )  # fmt: skip
    told = desk.outcomes.get(desk.variant, ())
    if told:
        st.html(outcomes_html(desk.variant, told))
    else:
        say.note(
            f"{desk.variant} was not made by a rule. Run one above; each rule then says whether it "
            "applied, declined or failed, and why."
        )


def outcomes_html(variant: str, told: tuple[RuleOutcome, ...]) -> str:
    """What every rule said to every function."""
    rows = [
        [
            html.escape(o.function), html.escape(o.rule),
            badge_html(Badge(o.status, TONES[o.status])), html.escape(o.reason),
            f"<details><summary>TVM's text</summary><pre>{html.escape(o.details)}</pre></details>"
            if o.details else "",
        ]
        for o in told
    ]  # fmt: skip
    return table_html(["Function", "Rule", "Said", "Because", ""], rows, f"{variant}: rule by rule")
