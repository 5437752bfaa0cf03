"""What was opened: how old text was migrated, what was left alone, and the text to take away."""

from __future__ import annotations

import html

import streamlit as st

from explorer import error_texts
from explorer.model.loaded import Loaded
from explorer.ui import moves, say, state
from explorer.ui.components.codeview import codeview, diffview
from explorer.ui.desk import Desk
from explorer.ui.panels.header import file_stem
from explorer.ui.words import table_html


def line(desk: Desk) -> None:
    """One line above the graph when text was changed or left alone, or holds a schedule."""
    loaded = desk.loaded
    error = error_texts.told_in(loaded.original)
    if error is not None:
        say.alert(f"Line {error.line} of the text is an error message. {error.sentence()}", "warn")
    told = remarks(loaded)
    if not told and not loaded.schedule:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="source_line"):
        st.html(f'<p class="why">{html.escape(told)}</p>', width="stretch")
        if loaded.schedule:
            st.button(
                "Open the schedule found in the text", key="found_schedule", type="primary",
                on_click=state.do, args=(moves.schedule_text, loaded.schedule, "From the text"),
            )  # fmt: skip


def remarks(loaded: Loaded) -> str:
    """What was done to the text, in one or two sentences; "" when it was taken as it is."""
    parts = []
    if count := len(loaded.migrations):
        lines = "line was" if count == 1 else "lines were"
        parts.append(f"Older text: {count} {lines} rewritten for today's dialect.")
    notes = [note for note in loaded.notes if not note.routine]
    if count := len(notes):
        parts.append(notes[0].message if count == 1 else f"{count} notes about the text.")
    return " ".join([*parts, "Source below has the details."]) if parts else ""


def draw(desk: Desk) -> None:
    """Migrations as rules and as a diff, notes, constants, and the module's text."""
    loaded = desk.loaded
    if loaded.migrations:
        st.html(migrations_html(loaded))
        with st.expander("Before and after, side by side", expanded=True):
            diffview(
                loaded.original, loaded.text, "python", key="migrated", height=360,
                labels=("as opened", "as loaded"),
            )  # fmt: skip
    for note in loaded.notes:
        place = f"Line {note.line}: " if note.line else ""
        st.html(f'<p class="why">{html.escape(place + note.message)}</p>')
    if loaded.constants:
        rows = [[f"<code>{html.escape(a)}</code>", html.escape(b)] for a, b in loaded.constants]
        st.html(table_html(["Constant", "Value"], rows, "Filled in from the text"))
    st.download_button(
        "Download the module as loaded", loaded.text, f"{file_stem(desk)}.py", "text/x-python",
        key="download_loaded", on_click="ignore",
    )  # fmt: skip
    if not loaded.migrations:
        codeview(loaded.text, "python", key="loaded", height=360, label="The module as loaded")


def migrations_html(loaded: Loaded) -> str:
    """One row a rewrite."""
    rows = [
        [
            str(m.line), html.escape(m.rule), f"<code>{html.escape(m.before)}</code>",
            f"<code>{html.escape(m.after)}</code>", html.escape(m.why),
        ]
        for m in loaded.migrations
    ]  # fmt: skip
    return table_html(["Line", "Rule", "Before", "After", "Why"], rows, "Rewritten lines")
