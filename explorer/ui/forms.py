"""A step's form: one widget per field of the primitive, from the field's own words and choices."""

from __future__ import annotations

from collections.abc import Callable
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


Send = Callable[[dict[str, Any]], None]


def step_form(offer: Offer, function: Function, node: Node, key: str, on_send: Send) -> None:
    """Draw the form; `on_send` gets what was filled in, before the page is drawn again."""
    required = [(f, d) for f, d in open_fields(offer) if d is _REQUIRED]
    optional = [(f, d) for f, d in open_fields(offer) if d is not _REQUIRED]

    def send() -> None:
        on_send({f.name: _value(f, function, node, key) for f, _ in open_fields(offer)})

    with st.form(key, border=False):
        st.markdown(f"**{say.plain(offer.label.rstrip('…'))}**")
        for field, default in required:
            _widget(field, default, function, node, key)
        if optional:
            with st.expander("More"):
                for field, default in optional:
                    _widget(field, default, function, node, key)
        st.form_submit_button("Apply", type="primary", on_click=send)


def _widget(field: Field, default: Any, function: Function, node: Node, key: str) -> None:
    """One field's control; those with choices hold positions in them."""
    name, help_ = f"{key}_{field.name}", field.help or None
    choices = field.choices(function, node)
    start = None if default is _REQUIRED else default

    def label(n: int) -> str:
        return choices[n].label

    if isinstance(field, FactorsField):
        _factors(field, choices, name)
    elif isinstance(field, FlagField):
        st.checkbox(field.label, value=bool(start), key=name, help=help_)
    elif isinstance(field, IntField):
        st.number_input(
            field.label, min_value=field.least, max_value=field.most, value=start, step=1,
            key=name, help=help_,
        )  # fmt: skip
    elif isinstance(field, ListField) and choices:
        st.multiselect(field.label, range(len(choices)), format_func=label, key=name, help=help_)
    elif choices:
        at = next((n for n, choice in enumerate(choices) if choice.value == start), 0)
        st.selectbox(
            field.label, range(len(choices)), index=at, format_func=label, key=name, help=help_
        )
    else:
        text = "" if start is None or start == () else str(start)
        st.text_input(field.label, value=text, key=name, help=help_)


def _factors(field: Field, choices: list[Choice], name: str) -> None:
    """Sizes that divide as one click, or any list typed in."""
    if choices:
        st.pills(
            "Outer × inner", range(min(len(choices), OFFERED_FACTORS)), key=f"{name}_pick",
            format_func=lambda n: say.plain(choices[n].label),
        )  # fmt: skip
    st.text_input(
        "Or your own, outermost first", key=name, placeholder="None, 4, 32",
        help=field.help or "One may be None: TVM works it out.",
    )  # fmt: skip


def _value(field: Field, function: Function, node: Node, key: str) -> Any:
    """What a field's control holds, as the field reads it; typed text wins over a pick."""
    held = st.session_state.get(f"{key}_{field.name}")
    choices = field.choices(function, node)
    if isinstance(field, FactorsField):
        picked = st.session_state.get(f"{key}_{field.name}_pick")
        typed = str(held or "").strip()
        return typed or (choices[picked].value if picked is not None else None)
    if isinstance(field, (FlagField, IntField)) or not choices or held is None:
        return held
    if isinstance(field, ListField):
        return tuple(choices[n].value for n in held)
    return choices[held].value
