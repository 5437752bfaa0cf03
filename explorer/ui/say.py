"""Sentences on the page.  Text may hold names from an untrusted module: it is never markup.

Streamlit reads Markdown (with images) in messages and in labels of buttons; so messages are HTML
of our own, and labels are escaped with `plain`.
"""

from __future__ import annotations

import html
import re

import streamlit as st

from explorer.errors import Problem
from explorer.ui.words import Tone

_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=])")
_CODE = re.compile(r"`([^`\n]+)`")


def plain(text: str) -> str:
    """Text for a label that Streamlit reads as Markdown, with nothing left to read."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def inline(text: str) -> str:
    """Text as HTML: escaped, with `code` between backticks set as code."""
    return _CODE.sub(r"<code>\1</code>", html.escape(text))


def sentence(problem: Problem) -> str:
    """A problem in one line: where, what, why, what to do."""
    place = f"Line {problem.line}: " if problem.line else ""
    return place + " ".join(part for part in (problem.what, problem.why, problem.do) if part)


def note(text: str) -> None:
    """A quiet remark."""
    st.html(f'<p class="why">{inline(text)}</p>')


def verdicts(*sentences: str) -> None:
    """What a race came to, a line for each sentence."""
    if sentences:
        st.html("".join(f'<p class="verdict">{html.escape(text)}</p>' for text in sentences))


def alert(text: str, tone: Tone = "bad") -> None:
    """A message that assistive programs announce."""
    st.html(f'<div class="alert {tone}" role="alert">{inline(text)}</div>', width="stretch")


def problem(found: Problem, tone: Tone = "bad") -> None:
    """A problem as an alert, with TVM's own text folded below."""
    alert(sentence(found), tone)
    details(found.details)


def details(text: str) -> None:
    """Raw text, folded away; nothing when there is none."""
    if text:
        with st.expander("Details"):
            st.code(text, language=None, wrap_lines=True)
