"""Read-only code panes: one text with line marks, or two texts as a diff."""

from __future__ import annotations

from pathlib import Path

from explorer.ui.components.codeview.diff import diff_rows
from explorer.ui.components.load import component

_component = component(Path(__file__).parent, '<div class="cv" role="region" tabindex="0"></div>')

SHOWN_LINES = 4000
"""A pane shows this many lines; the rest is told and downloads in full."""


def codeview(
    text: str,
    lang: str,
    *,
    key: str,
    height: int,
    label: str,
    spans: dict[str, list[int]] | None = None,
    folds: list[tuple[int, int, str]] | None = None,
    refused: dict[int, str] | None = None,
    pane: str = "",
    channel: str = "",
) -> None:
    """Show `text` ("python", "cuda" or "text"); clicking a line number selects the node there.

    `spans` maps node ids to [first, last] lines; `folds` are (first, last, title) ranges shown
    closed; `refused` says under a line why a compiler refused it; `pane` names it for marks sent
    through `link`; `channel` ties it to graphs of that channel instead.
    """
    text = text.rstrip()
    lines = text.splitlines()
    cut = len(lines) - SHOWN_LINES
    if cut > 0:
        text = "\n".join(lines[:SHOWN_LINES])
    _component(
        key=key,
        height=height,
        data={
            "text": text, "lang": lang, "label": label, "height": height, "pane": pane,
            "channel": channel,
            "refused": {str(n): why for n, why in (refused or {}).items()},
            "spans": spans or {}, "folds": [list(fold) for fold in folds or []], "cut": max(cut, 0),
        },
    )  # fmt: skip


def diffview(
    before: str, after: str, lang: str, *, key: str, height: int, labels: tuple[str, str]
) -> None:
    """Show two texts side by side: changed lines, changed words, long equal runs folded."""
    _component(
        key=key,
        height=height,
        data={
            "rows": diff_rows(before, after), "lang": lang, "height": height,
            "labels": list(labels), "label": f"{labels[0]} and {labels[1]}, side by side",
        },
    )  # fmt: skip


__all__ = ["codeview", "diffview"]
