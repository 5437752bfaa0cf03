"""The charts of a race in the page: which one, of what, and as which file."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.model.analysis import Roofline
from explorer.model.race import Heat, Race, Roof
from explorer.ui import ask, say, times
from explorer.ui.desk import Desk
from explorer.ui.panels import timing_plots as plots
from explorer.ui.panels.timing_plots import Spot

CHARTS = ["Medians", "Distribution", "Roofline"]


def race(desk: Desk, found: Race) -> None:
    """One chart of a finished race, and its figures as CSV."""
    heats = [heat for heat in found.heats if any(row.samples_us for row in heat.rows)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        what = st.segmented_control(
            "Chart", CHARTS, default=CHARTS[0], key="time_chart", required=True,
            persist_state="session",
        )  # fmt: skip
        heat = _heat(heats) if what != "Medians" else heats[0]
        rows = [row for row in heat.rows if row.samples_us]
        name = ""
        if what == "Distribution":
            name = st.selectbox("Variant", [row.variant for row in rows], key="time_one", width=200)
        data, file = (
            (times.samples_csv(heat, name), "rounds.csv")
            if what == "Distribution" else (times.race_csv(found), "race.csv")
        )  # fmt: skip
        kind = saves(data, file)
    if what == "Medians":
        chart(plots.medians(heats), "medians", kind, "Medians with 95 % intervals")
    elif what == "Distribution":
        row = next((row for row in rows if row.variant == name), rows[0])
        chart(plots.distribution(heat, row), "rounds", kind, f"Rounds of {row.variant}")
    else:
        _roofline(desk, heat, kind)


def bound(desk: Desk, found: Race) -> None:
    """The roofline without times: where each variant's bound lies."""
    heat = next((h for h in found.heats if any(row.bound_us for row in h.rows)), None)
    if heat is None:
        return
    spots, roof = _bound_spots(desk, [row.variant for row in heat.rows])
    if spots:
        draw(
            plots.roofline(roof, spots), "roofline", "Roofline with bounds",
            times.bounds_csv(heat), "bounds.csv",
        )  # fmt: skip


def draw(figure: Any, key: str, alt: str, data: str, file: str) -> None:
    """A chart under what it can be saved as."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = saves(data, file)
    chart(figure, key, kind, alt)


def saves(data: str, file: str) -> str:
    """The CSV of a chart, and what its camera button saves: "PNG" or "SVG"."""
    save(data, file)
    return (
        st.segmented_control(
            "Camera saves", ["PNG", "SVG"], default="PNG", key=f"time_picture_{file}",
            required=True, persist_state="session",
            help="The camera button in the chart's corner: the picture is made in the browser.",
        )
        or "PNG"
    )  # fmt: skip


def chart(figure: Any, key: str, kind: str, alt: str) -> None:
    """A chart whose camera button saves PNG or SVG, made in the browser."""
    st.plotly_chart(
        figure, key=f"time_plot_{key}", alt=alt,
        config={
            "displaylogo": False,
            "toImageButtonOptions": {"format": kind.lower(), "filename": key, "scale": 2},
            "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        },
    )  # fmt: skip


def save(data: str, name: str) -> None:
    """A CSV file."""
    st.download_button(
        "CSV", data, name, "text/csv", key=f"time_csv_{name}", on_click="ignore",
        help="With device, method, sizes and date in every row.",
    )  # fmt: skip


def _heat(heats: list[Heat]) -> Heat:
    if len(heats) == 1:
        return heats[0]
    at = st.selectbox(
        "Of", range(len(heats)), key="time_heat", width=260,
        format_func=lambda at: times.heat_title(heats[at]),
    )  # fmt: skip
    return heats[at or 0]


def _roofline(desk: Desk, heat: Heat, kind: str) -> None:
    names = [row.variant for row in heat.rows]
    spots = measured_spots(heat)
    if not spots:
        say.note("The work of this function could not be counted, so there is no point to draw.")
        return
    roof = heat.roof or (_bound_spots(desk, names)[1] if heat.place.target != "llvm" else None)
    if roof is None:
        say.note("No peak rates are known for this device and these types: points without a roof.")
    chart(plots.roofline(roof, spots), "roofline", kind, "Roofline")


def measured_spots(heat: Heat) -> list[Spot]:
    """Every measured variant whose operations and bytes are known."""
    return [
        Spot(
            variant=row.variant, intensity=row.gflops / row.gbs, gflops=row.gflops, measured=True,
            about=f"{row.variant}: {times.span(row)}\n{times.provenance(heat.place, row.library)}",
        )
        for row in heat.rows
        if row.gflops and row.gbs
    ]  # fmt: skip


def _bound_spots(desk: Desk, names: list[str]) -> tuple[list[Spot], Roof | None]:
    """Bounds of variants whose kernels were analysed, and the GPU's roof."""
    spots, roof = [], None
    for name in names:
        analysis = ask.analysed(desk, name).value
        lines = [k.roofline for k in analysis.kernels if k.roofline] if analysis else []
        spot = bound_spot(name, lines)
        if spot is None:
            continue
        spots.append(spot)
        roof = Roof(
            device=lines[0].gpu, source=lines[0].source, peak_gbs=lines[0].peak_gbs,
            peak_gflops=1000 * max(line.peak_tflops for line in lines),
        )  # fmt: skip
    return spots, roof


def bound_spot(variant: str, lines: list[Roofline]) -> Spot | None:
    """The bound of all kernels of a variant together; None when there is nothing to count."""
    flops = sum(line.work.flops for line in lines)
    moved = sum(line.work.read_bytes + line.work.written_bytes for line in lines)
    least_us = sum(line.bound_us for line in lines)
    if not (flops and moved and least_us):
        return None
    return Spot(
        variant=variant, intensity=flops / moved, gflops=flops / least_us / 1000, measured=False,
        about=f"{variant}: bound, not a time: at least {times.micros(least_us)}\n"
        f"{lines[0].gpu}: {lines[0].source}",
    )  # fmt: skip
