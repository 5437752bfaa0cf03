"""Figures of races as Plotly values.  Every point shows on hover what it has to be read with."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import plotly.graph_objects as go

from explorer.model.race import Heat, Roof, Row
from explorer.model.studies import Ablation, History, Sweep
from explorer.ui.times import heat_title, micros, provenance, size_title, span

HEIGHT = 320
ROW = 34
_SIDES = ("middle right", "middle left")
_BELOW = ("bottom right", "bottom center", "bottom left")
"""Where names stand at their points, in turn from the slowest up: neighbours lie on one another."""


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel on the roofline: operations per byte and GFLOP/s; a bound is `measured` False."""

    variant: str
    intensity: float
    gflops: float
    measured: bool
    about: str


def medians(heats: Sequence[Heat]) -> go.Figure:
    """Medians with their 95 % intervals, a colour for each function and device."""
    figure = go.Figure()
    for heat in heats:
        rows = [row for row in heat.rows if row.median_us is not None]
        figure.add_scatter(
            x=[row.median_us for row in rows], y=[row.variant for row in rows], mode="markers",
            name=label(heat_title(heat)), marker={"size": 10},
            error_x=_error(
                [row.median_us or 0.0 for row in rows], [row.low_us for row in rows],
                [row.high_us for row in rows],
            ),
            customdata=[_about(f"{row.variant}: {span(row)}", heat, row.library) for row in rows],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    count = len({row.variant for heat in heats for row in heat.rows})
    figure.update_layout(
        xaxis={"title": "median, µs (95 % interval)", "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "type": "category"}, showlegend=len(heats) > 1,
    )  # fmt: skip
    return framed(figure, max(180, 110 + ROW * count))


def distribution(heat: Heat, row: Row) -> go.Figure:
    """All rounds of one variant as points and their density."""
    figure = go.Figure()
    figure.add_violin(
        x=list(row.samples_us), name="", orientation="h", points="all", jitter=0.5, pointpos=0,
        box={"visible": True}, meanline={"visible": False}, spanmode="hard",
        marker={"size": 5, "opacity": 0.6}, showlegend=False, hoveron="points",
        customdata=[
            _about(f"{row.variant}: {micros(us)}", heat, row.library) for us in row.samples_us
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": f"{label(row.variant)}: mean of each round's calls, µs"},
        yaxis={"showticklabels": False},
    )
    return framed(figure, 260)


def roofline(roof: Roof | None, spots: Sequence[Spot]) -> go.Figure:
    """Kernels against what the device can do at most; hollow where it is only a bound."""
    figure = go.Figure()
    around = [spot.intensity for spot in spots]
    around += [roof.peak_gflops / roof.peak_gbs] if roof is not None else []
    ends = (min(around) / 4, max(around) * 4)
    heights = [spot.gflops for spot in spots]
    if roof is not None:
        heights += [roof.peak_gflops, roof.peak_gbs * ends[0]]
        one_core = roof.one_core_gflops
        how = "measured peak" if roof.measured else "peak"
        if one_core is not None and one_core < 0.9 * roof.peak_gflops:
            _roof_line(figure, roof, one_core, ends, "on one core", "dot")
        if roof.cached:
            name = f"{how} arithmetic of {roof.device}"
            _roof_line(figure, roof, roof.peak_gflops, ends, name, "solid")
            xs = [ends[0], roof.peak_gflops / roof.peak_gbs]
            name = "device memory, which the warm cache may spare"
            _line(figure, roof, xs, [roof.peak_gbs * x for x in xs], name, "dash")
        else:
            _roof_line(figure, roof, roof.peak_gflops, ends, f"{how}s of {roof.device}", "solid")
    levels = (min(heights) / 2, max(heights) * 2)
    for measured, name in ((True, "measured"), (False, "bound, not a time")):
        some = sorted((s for s in spots if s.measured == measured), key=lambda s: s.gflops)
        if not some:
            continue
        sides = _SIDES if measured else _BELOW  # a bound lies on the roof's line
        figure.add_scatter(
            x=[spot.intensity for spot in some], y=[spot.gflops for spot in some], name=name,
            mode="markers+text", text=[label(spot.variant) for spot in some],
            textposition=[
                sides[at % len(sides)] for at in range(len(some))
            ],
            marker={
                "size": 11, "symbol": "circle" if measured else "circle-open", "line": {"width": 2},
            },
            customdata=[hover_lines(spot.about) for spot in some],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        xaxis={"title": "operations per byte", **log_axis(ends)},
        yaxis={"title": "GFLOP/s", **log_axis(levels)},
    )
    return framed(figure, HEIGHT + 60)


def _roof_line(
    figure: go.Figure, roof: Roof, gflops: float, ends: tuple[float, float], name: str, dash: str
) -> None:
    """A peak rate, below it memory's slope where that is a bound, too."""
    xs = [ends[0], gflops / roof.peak_gbs, ends[1]]
    ys = [gflops if roof.cached else min(gflops, roof.peak_gbs * x) for x in xs]
    _line(figure, roof, xs, ys, name, dash)


def _line(
    figure: go.Figure, roof: Roof, xs: list[float], ys: list[float], name: str, dash: str
) -> None:
    figure.add_scatter(
        x=xs, y=ys, mode="lines", name=label(name),
        line={"dash": dash}, customdata=[hover_lines(f"{name}\n{roof.source}")] * len(xs),
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def sweep(found: Sweep, names: Sequence[str]) -> go.Figure:
    """Time over a size, a line for each variant; a cross where a tile leaves something over."""
    figure = go.Figure()
    for name in names:
        points = [
            (point, heat, row)
            for point in found.points
            for heat in point.race.heats[:1]
            if (row := heat.row(name)) is not None and row.median_us is not None
        ]
        left = ["x" if name in point.remainders else "circle" for point, _, _ in points]
        about = [
            _about(
                f"{name} at {found.name} = {point.value}: {span(row)} "
                + " ".join(point.remainders.get(name, ())), heat, row.library,
            )
            for point, heat, row in points
        ]  # fmt: skip
        figure.add_scatter(
            x=[point.value for point, _, _ in points], y=[row.median_us for _, _, row in points],
            name=label(name), mode="lines+markers", marker={"size": 9, "symbol": left},
            error_y=_error(
                [row.median_us or 0.0 for _, _, row in points],
                [row.low_us for _, _, row in points], [row.high_us for _, _, row in points],
            ),
            customdata=about, hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    values = [point.value for point in found.points]
    known = [us for trace in figure.data for us in trace.y] or [1.0]
    ends = (min(known) / 1.5, max(known) * 1.5)
    figure.update_layout(
        xaxis={"title": label(size_title(found.name)), "type": "log", "tickvals": values,
               "ticktext": [str(value) for value in values]},
        yaxis={"title": "median, µs", **log_axis(ends)}, showlegend=True,
    )  # fmt: skip
    return framed(figure, HEIGHT)


def history(found: History) -> go.Figure:
    """The median after each step; steps that could not be timed leave a gap."""
    figure, heat = go.Figure(), next(iter(found.race.heats), None)
    steps = found.steps
    figure.add_scatter(
        x=[each.step for each in steps], y=[each.median_us for each in steps],
        mode="lines+markers", connectgaps=False, marker={"size": 9}, showlegend=False,
        error_y=_error(
            [each.median_us or 0.0 for each in steps], [each.low_us for each in steps],
            [each.high_us for each in steps],
        ),
        customdata=[
            _about(
                " ".join([each.line or "as it came", each.change.words if each.change else ""]),
                heat,
            )
            for each in steps
        ],
        hovertemplate="%{y:.4g} µs after step %{x}<br>%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        xaxis={"title": "after step", "dtick": max(1, len(steps) // 20)},
        yaxis={"title": "median, µs", "rangemode": "tozero"},
    )
    return framed(figure, HEIGHT)


def ablation(found: Ablation) -> go.Figure:
    """How many times longer it takes without each step, with the 99 % interval."""
    heat = next(iter(found.race.heats), None)
    some = [each for each in found.steps if each.worth is not None]
    figure = go.Figure()
    figure.add_bar(
        x=[each.worth for each in some], orientation="h",
        y=[f"{each.step + 1}. {label(_short(each.line))}" for each in some],
        error_x=_error(
            [each.worth or 0.0 for each in some],
            [each.verdict.low if each.verdict else None for each in some],
            [each.verdict.high if each.verdict else None for each in some],
        ),
        customdata=[
            _about(f"{each.line}: {each.verdict.words if each.verdict else ''}", heat)
            for each in some
        ],
        hovertemplate="%{x:.3g}× as long without it<br>%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.add_vline(x=1, line_dash="dot", line_width=1)
    figure.update_layout(
        bargap=0.5,
        xaxis={"title": "times as long without the step (1: worth nothing)"},
        yaxis={"autorange": "reversed", "type": "category"},
    )
    return framed(figure, max(180, 110 + ROW * len(some)))


def _error(
    mids: Sequence[float], lows: Sequence[float | None], highs: Sequence[float | None]
) -> dict[str, Any]:
    """Bars from low to high; none where an end is not known."""
    up = [
        0.0 if high is None else max(high - mid, 0.0) for mid, high in zip(mids, highs, strict=True)
    ]
    down = [
        0.0 if low is None else max(mid - low, 0.0) for mid, low in zip(mids, lows, strict=True)
    ]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.5}


def log_axis(ends: tuple[float, float]) -> dict[str, Any]:
    """A logarithmic axis with ticks at 1, 2 and 5 of each power of ten."""
    powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return {
        "type": "log", "range": [math.log10(end) for end in ends], "tickvals": ticks,
        "ticktext": [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks],
    }  # fmt: skip


def _about(text: str, heat: Heat | None, library: str = "") -> str:
    return hover_lines(text if heat is None else f"{text}\n{provenance(heat.place, library)}")


def hover_lines(text: str, chars: int = 90) -> str:
    """Text for a hover box: escaped, long lines broken."""
    broken = []
    for line in text.splitlines():
        words, row = line.split(), ""
        for word in words:
            if row and len(row) + len(word) >= chars:
                broken.append(row)
                row = word
            else:
                row = f"{row} {word}".strip()
        broken.append(row)
    return "<br>".join(html.escape(line) for line in broken)


def label(text: str) -> str:
    """Text where Plotly reads a little HTML."""
    return html.escape(text)


def _short(line: str, chars: int = 56) -> str:
    return line if len(line) <= chars else line[: chars - 1] + "…"


def framed(figure: go.Figure, height: int) -> go.Figure:
    """A figure with the margins and the legend of all of them; `height` in pixels."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 24, "b": 8},
        hoverlabel={"align": "left"},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0},
    )
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(automargin=True)
    return figure
