"""A machine on which no kernel can be checked: say so once, and get a compiler by a click."""

from __future__ import annotations

import time
from collections.abc import Mapping

import streamlit as st

from explorer.emulator.fetch import DOWNLOAD_BYTES, PACKAGE, fetch_compiler
from explorer.model.doctor import CPP
from explorer.ui import ask, say, state
from explorer.ui.desk import Desk
from explorer.ui.panels import findings
from explorer.ui.words import worst

ASKED = "fetch_compiler"
"""In the tab's session: when the user asked for it, in nanoseconds; each time is a new question."""

NONE_HERE = "Kernels are not checked: this machine has no C++ compiler to run them on the CPU."
HOW = (
    f"{PACKAGE}, {DOWNLOAD_BYTES / 1e6:.0f} MB from PyPI into this program's environment, "
    "and as much again in ~/.cache. "
    "Or install g++ or clang++ yourself, then look again."
)
FETCHING = (
    f"Fetching {PACKAGE} from PyPI. Its first use builds its C++ library: this takes a minute or "
    "two, once. Go on working meanwhile."
)


def draw(desk: Desk, results: Mapping[str, ask.Result]) -> bool:
    """One line with two ways out; nothing when there is a compiler.  True while one is fetched."""
    asked = st.session_state.get(ASKED, 0)
    got = state.background().ask(fetched, asked) if asked else None
    if got is not None and got.value is not None:
        del st.session_state[ASKED]
        st.rerun()  # all of the page shows answers of before
    if not _unchecked(desk, results):
        return got is not None and got.pending
    tools = ask.tools()
    if tools.value is None:
        return tools.pending
    if all(tool.found for tool in tools.value if tool.name == CPP):
        return False
    with st.container(border=True, key="no_compiler", gap="small"):
        if got is not None and got.pending:
            say.note(FETCHING)
            return True
        if got is not None and got.problem is not None:
            say.problem(got.problem)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f'<p class="why">{NONE_HERE}</p>', width="content")
            st.button("Fetch one", key="fetch", on_click=_fetch)
            st.button("Look again", key="look_again", on_click=look_again)
            st.html(f'<p class="why">{HOW}</p>', width="content")
    return False


def _unchecked(desk: Desk, results: Mapping[str, ask.Result]) -> bool:
    """A variant's kernels, or those of a cure that was tried, could not be checked."""
    for result in results.values():
        verdict = worst(result.build) if result.build is not None and not result.waiting else None
        if verdict is not None and verdict.status == "not_checked":
            return True
    shown = results[desk.variant].build
    tried = (ask.tried(desk, cure).value for cure in findings.shown_cures(shown))
    return any(c is not None and c.offered and c.check.status == "not_checked" for c in tried)


def fetched(asked: int) -> str:
    """Fetch it, and forget every answer that was given without it."""
    found = fetch_compiler()
    state.background().forget()
    return found


def _fetch() -> None:
    st.session_state[ASKED] = time.time_ns()
    state.draw(["verdicts"])


def look_again() -> None:
    """A control's callback: forget what was answered without a compiler, and ask anew."""
    st.session_state.pop(ASKED, None)
    state.background().forget()
    st.rerun()
