"""The page's own style sheet, with the colours of the theme that is on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

NAMES = ("red", "green", "orange", "gray")


def style() -> str:
    """A `<style>` element: theme.css and the verdict colours from the app's configuration."""
    kind = "dark" if st.context.theme.type == "dark" else "light"
    colours = "".join(
        f"--tse-{name}:{st.get_option(f'theme.{kind}.{name}TextColor')};"
        f"--tse-{name}-back:{st.get_option(f'theme.{kind}.{name}BackgroundColor')};"
        for name in NAMES
    )
    line = st.get_option(f"theme.{kind}.borderColor")
    return f"<style>:root{{{colours}--tse-line:{line}}}{_sheet()}</style>"


@cache
def _sheet() -> str:
    return (Path(__file__).parent / "theme.css").read_text()
