"""Charts of a search: how the best fell, and the cost model's word against the figures.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from explorer.tuning.events import Candidate
from explorer.tuning.summary import Summary, figure
from explorer.ui import tunes_words as words
from explorer.ui.panels.timing_plots import framed, hover_lines, label, log_axis
from explorer.ui.times import micros

HEIGHT = 300
MOST_DOTS = 1500
"""More candidates than this are thinned out, the best kept: a chart is sent whole."""
GROUPS = {"sampled": "sampled", "mutated": "mutated", "seed": "seeds", "imported": "imported"}
SYMBOLS = {"sampled": "circle", "mutated": "diamond", "seed": "star", "imported": "square"}
COLOURS = {"sampled": "#6b7fd7", "mutated": "#1f9a90", "seed": "#b455c0", "imported": "#8a8f99"}
_SHIFTS = (9, -9)
"""Labels of rivals stand above and below their lines in turn: equal figures lie on one another."""
BEST, RIVAL = "#d9702b", "#8a8f99"
"""Colours that are told apart on the light and on the dark page."""

_PICKED: dict[str, Any] = {
    "selected": {"marker": {"size": 13}}, "unselected": {"marker": {"opacity": 1}},
}  # fmt: skip
"""The dot that was clicked is larger; the others stay as they are."""


def convergence(summary: Summary, function: str) -> go.Figure:
    """Every candidate's figure by trial, the best so far as a line, rivals as dashed lines.

    The id of a dot's candidate is its `customdata[0]`.
    """
    found = go.Figure()
    curve = summary.curve(function)
    what = "predicted" if summary.predicted else "median"
    shown = thinned(summary.ranked(function))
    for group, name in GROUPS.items():
        some = [each for each in shown if group_of(each) == group]
        if some:
            found.add_scatter(
                x=[each.trial for each in some], y=[figure(each) for each in some], name=name,
                mode="markers",
                marker={"size": 8, "symbol": SYMBOLS[group], "color": COLOURS[group]}, **_PICKED,
                customdata=[[each.id, _about(each)] for each in some],
                hovertemplate="%{customdata[1]}<extra></extra>",
            )  # fmt: skip
    if curve:
        found.add_scatter(
            x=[each.trial for each in curve], y=[each.best_us for each in curve],
            name="best so far", mode="lines", line={"shape": "hv", "width": 2, "color": BEST},
            hoverinfo="skip",  # its corners lie on dots, which would not be met
        )  # fmt: skip
    end = max([each.trial for each in shown], default=1) * 1.03 + 1
    start = 0 if all(each.trial for each in shown) else -0.05 * end  # imported: before the first
    values = [figure(each) or 0.0 for each in shown] + _rivals(found, summary, function, end)
    found.update_layout(
        xaxis={"title": "trial", "range": [start, end]},
        yaxis={"title": f"{what}, µs", **log_axis(_ends(values))},
        showlegend=True, uirevision=function,
    )  # fmt: skip
    return framed(found, HEIGHT)


def cost_model(summary: Summary, function: str) -> go.Figure:
    """The cost model's score before building against the figure; good ones lie on a falling line.

    The id of a dot's candidate is its `customdata[0]`.
    """
    some = thinned(summary.scored(function))
    found = go.Figure()
    found.add_scatter(
        x=[each.score for each in some], y=[figure(each) for each in some], mode="markers",
        marker={"size": 7, "color": COLOURS["sampled"]}, showlegend=False, **_PICKED,
        customdata=[[each.id, _about(each)] for each in some],
        hovertemplate="%{customdata[1]}<extra></extra>",
    )  # fmt: skip
    what = "static model, µs" if summary.predicted else "measured, µs"
    found.update_layout(
        xaxis={"title": "cost model's score (higher: expected faster)"},
        yaxis={"title": what, **log_axis(_ends([figure(each) or 0.0 for each in some]))},
        uirevision=function,
    )  # fmt: skip
    return framed(found, HEIGHT)


def chosen(event: Any) -> int | None:
    """The candidate whose dot was clicked, by what Streamlit says of a chart; None for a line."""
    ids = [point["customdata"][0] for point in event["selection"]["points"]
           if point.get("customdata")]  # fmt: skip
    return int(ids[0]) if ids else None


def group_of(candidate: Candidate) -> str:
    """Where a candidate came from: the first word of its origin, "sampled" for unknown ones."""
    first = candidate.origin.partition(" ")[0]
    return first if first in GROUPS else "sampled"


def thinned(ranked: Sequence[Candidate]) -> list[Candidate]:
    """At most MOST_DOTS of ranked candidates, the best tenth of them whole."""
    if len(ranked) <= MOST_DOTS:
        return list(ranked)
    best = MOST_DOTS // 10
    every = -(-(len(ranked) - best) // (MOST_DOTS - best))
    return [*ranked[:best], *ranked[best::every]]


def _rivals(found: go.Figure, summary: Summary, function: str, end: float) -> list[float]:
    """Draw a dashed line for each rival with a figure; their values."""
    values = []
    known = [
        (us, each.name)
        for each in summary.rivals.values()
        if each.function == function and (us := each.predicted_us if summary.predicted else each.us)
    ]
    for at, (us, name) in enumerate(sorted(known)):
        values.append(us)
        text = f"{label(name)}: {micros(us)}"
        found.add_scatter(
            x=[0, end], y=[us, us], mode="lines", showlegend=False, hovertext=text,
            hoverinfo="text", line={"dash": "dash", "width": 1.2, "color": RIVAL},
        )  # fmt: skip
        found.add_annotation(
            x=end, y=math.log10(us), text=text, showarrow=False, xanchor="right",
            yshift=_SHIFTS[at % 2], font={"size": 11},
        )  # fmt: skip
    return values


def _about(each: Candidate) -> str:
    trial = f", trial {each.trial}" if each.trial else ""
    return hover_lines(f"candidate {each.id}{trial}: {words.figure_text(each)}\n{each.origin}")


def _ends(values: Sequence[float]) -> tuple[float, float]:
    some = [value for value in values if value > 0] or [1.0]
    return min(some) / 1.3, max(some) * 1.3
