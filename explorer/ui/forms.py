"""A step's form: one widget per field of the primitive, from the field's own words and choices."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.model.nest import Function, Node
from explorer.primitives import STEPS, Offer
from explorer.primitives.base import defaults_of
from explorer.primitives.fields import (
    Choice,
    FactorsField,
    Field,
    FlagField,
    IntField,
    ListField,
)
from explorer.ui import say

OFFERED_FACTORS = 12


def open_fields(offer: Offer) -> list[tuple[Field, Any]]:
    """The fields an offer leaves open, each with its default (NODEFAULT where it is required)."""
    cls = STEPS[offer.op]
    defaults = dict(zip(cls.__struct_fields__, defaults_of(cls), strict=True))
    return [(f, defaults[f.name]) for f in cls.form if f.name not in offer.known]


_REQUIRED = defaults_of(STEPS["bind"])[0]


def step_form(offer: Offer, function: Function, node: Node, key: str) -> dict[str, Any] | None:
    """Draw the form; what was filled in when it was sent, else None."""
    required = [(f, d) for f, d in open_fields(offer) if d is _REQUIRED]
    optional = [(f, d) for f, d in open_fields(offer) if d is not _REQUIRED]
    with st.form(key, border=True):
        st.markdown(f"**{say.plain(offer.label.rstrip('…'))}**")
        given = {f.name: _widget(f, d, function, node, key) for f, d in required}
        if optional:
            with st.expander("More"):
                given |= {f.name: _widget(f, d, function, node, key) for f, d in optional}
        sent = st.form_submit_button("Apply", type="primary")
    return given if sent else None


def _widget(field: Field, default: Any, function: Function, node: Node, key: str) -> Any:
    name, help_ = f"{key}_{field.name}", field.help or None
    choices = field.choices(function, node)
    start = None if default is _REQUIRED else default
    if isinstance(field, FactorsField):
        return _factors(field, choices, name)
    if isinstance(field, FlagField):
        return st.checkbox(field.label, value=bool(start), key=name, help=help_)
    if isinstance(field, IntField):
        return st.number_input(
            field.label, min_value=field.least, max_value=field.most, value=start, step=1,
            key=name, help=help_,
        )  # fmt: skip
    if isinstance(field, ListField) and choices:
        picked = st.multiselect(
            field.label, range(len(choices)), format_func=lambda n: choices[n].label, key=name,
            help=help_,
        )  # fmt: skip
        return tuple(choices[n].value for n in picked)
    if choices:
        return _choice(field, choices, start, name)
    text = "" if start is None or start == () else str(start)
    return st.text_input(field.label, value=text, key=name, help=help_)


def _choice(field: Field, choices: list[Choice], start: Any, name: str) -> Any:
    at = next((n for n, choice in enumerate(choices) if choice.value == start), 0)
    picked = st.selectbox(
        field.label, range(len(choices)), index=at, format_func=lambda n: choices[n].label,
        key=name, help=field.help or None,
    )  # fmt: skip
    return choices[picked].value


def _factors(field: Field, choices: list[Choice], name: str) -> Any:
    """Sizes that divide as one click, or any list typed in; what is typed wins."""
    picked = None
    if choices:
        picked = st.pills(
            "Outer × inner", range(min(len(choices), OFFERED_FACTORS)), key=f"{name}_pick",
            format_func=lambda n: say.plain(choices[n].label),
        )  # fmt: skip
    typed = st.text_input(
        "Or your own, outermost first", key=name, placeholder="None, 4, 32",
        help=field.help or "One may be None: TVM works it out.",
    )  # fmt: skip
    if typed.strip():
        return typed
    return choices[picked].value if picked is not None else None
