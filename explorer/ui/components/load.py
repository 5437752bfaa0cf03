"""One way to register a component from the files beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

Callback = Callable[[], None]
"""Runs before the page is drawn again; what fired is read with `explorer.ui.state.fired`."""


def component(folder: Path, html: str) -> Any:
    """The component whose script and style are `<folder>/<folder name>.js` and `.css`."""
    name = folder.name
    style = folder / f"{name}.css"
    return st.components.v2.component(
        name,
        html=html,
        css=style.read_text() if style.exists() else None,
        js=(folder / f"{name}.js").read_text(),
    )
