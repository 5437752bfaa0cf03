"""Variants side by side: a summary on top, then the code in columns, or two of them as a diff."""

from __future__ import annotations

import html

import streamlit as st

from explorer.model.result import Build
from explorer.ui import ask, marks, say, state
from explorer.ui import desk as desks
from explorer.ui.components.codeview import codeview, diffview
from explorer.ui.desk import Desk
from explorer.ui.panels.compiled import registers
from explorer.ui.times import provenance, span
from explorer.ui.words import (
    badge_html,
    dims,
    kernels_of,
    launch,
    result_badge,
    size,
    table_html,
    time_text,
)  # fmt: skip

COLUMNS = 4
HEIGHT = 520


def draw(desk: Desk, results: dict[str, ask.Result]) -> bool:
    """Pick what to compare, then table and code; True while a column of the table waits."""
    names = desks.names(desk)
    st.html(summary(desk, results))
    if len(names) < 2:
        say.note("There is one variant so far. New variant above the graph makes another.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = st.pills(
            "Side by side",
            names,
            selection_mode="multi",
            default=names[:COLUMNS],
            key=f"cmp_{len(names)}",
            format_func=say.plain,
        )
        what = st.segmented_control(
            "Code", ["CUDA", "TVMScript"], default="CUDA", key="cmp_code", required=True
        )
        as_diff = len(picked) == 2 and st.toggle("As a diff", key="cmp_diff")
    picked = [name for name in names if name in picked][:COLUMNS]
    if as_diff:
        before, after = (_text(desk, name, what) for name in picked)
        diffview(
            before, after, "cuda" if what == "CUDA" else "python", key="cmp_diffview",
            height=HEIGHT, labels=(picked[0], picked[1]),
        )  # fmt: skip
        return _waits(desk, results)
    for name, column in zip(picked, st.columns(max(len(picked), 1)), strict=False):
        with column:
            _column(desk, name, what, results[name])
    return _waits(desk, results)


def _waits(desk: Desk, results: dict[str, ask.Result]) -> bool:
    """Whether a verdict, or the registers of a variant with kernels, are still to come."""
    return any(one.waiting for one in results.values()) or any(
        ask.analysed(desk, name).pending
        for name, one in results.items()
        if one.build is not None and kernels_of(one.build)
    )


def summary(desk: Desk, results: dict[str, ask.Result]) -> str:
    """One row a variant: status, kernels, launch, shared memory, findings, verdict, time."""
    rows = [_row(desk, name, one) for name, one in results.items()]
    head = [
        "Variant",
        "Verdict",
        "Kernels",
        "Grid × block",
        "Shared",
        "Registers",
        "Findings",
        "Time",
        "Steps",
    ]
    return table_html(head, rows, f"Built for {desk.experiment.target}")


def _row(desk: Desk, name: str, result: ask.Result) -> list[str]:
    badge, build = result_badge(result), result.build
    steps = desk.experiment.variant(name)
    count = str(len(steps.steps)) if steps is not None else "0"
    verdict = f"{badge_html(badge)}<div>{html.escape(badge.why)}</div>"
    if build is None or not kernels_of(build):
        missing = "none" if build is not None else "not built yet"
        return [
            html.escape(name), verdict, missing, "", "", "",
            _findings(build), _raced(desk, name) or _no_time(build), count,
        ]  # fmt: skip
    kernels = [kernel for _, kernel in kernels_of(build)]
    lines = "<br>".join
    return [
        html.escape(name), verdict,
        lines(f"<code>{html.escape(k.name)}</code>" for k in kernels),
        lines(html.escape(f"{dims(k.grid)} × {dims(k.block)}") for k in kernels),
        lines(size(k.shared_bytes + k.dynamic_shared_bytes) for k in kernels),
        html.escape(registers(ask.analysed(desk, name).value)),
        _findings(build), _raced(desk, name) or _time(build), count,
    ]  # fmt: skip


def _findings(build: Build | None) -> str:
    if build is None:
        return ""
    counts = [
        f"{n} {word}{'' if n == 1 else 's'}"
        for word in ("error", "warning")
        if (n := sum(f.severity == word for f in build.findings))
    ]
    return ", ".join(counts) or "none"


def _raced(desk: Desk, name: str) -> str:
    """What the last race said of exactly this variant, target and sizes; "" when none did."""
    variant, experiment = desk.experiment.variant(name), desk.experiment
    if variant is None:
        return ""
    figures = state.races().figures(desk.source, variant, experiment.target, experiment.sizes)
    lines = []
    for figure in figures:
        about = html.escape(provenance(figure.place))
        text = span(figure.row) or f"not measured: {figure.row.reason}"
        which = f"{figure.function}: " if len({f.function for f in figures}) > 1 else ""
        lines.append(f'<span title="{about}">{html.escape(which + text)}</span>')
    return "<br>".join(lines)


def _no_time(build: Build | None) -> str:
    if build is not None and build.status == "built":
        return "not measured: the Timing tab races CPU schedules"
    return "not measured: there is no kernel to time"


def _time(build: Build) -> str:
    """The times, or the reason there is none, once."""
    told = dict.fromkeys(
        time_text(f.time) if f.time.status == "measured" else f"not measured: {f.time.reason}"
        for f in build.functions
        if f.kernels
    )
    return "<br>".join(html.escape(text) for text in told)


def _text(desk: Desk, name: str, what: str | None) -> str:
    if what == "TVMScript":
        return ask.view(desk, name).script
    built = ask.result(desk, name, wait_s=ask.BUILD_WAIT_S).build
    return built.source if built is not None else ""


def _column(desk: Desk, name: str, what: str | None, result: ask.Result) -> None:
    badge, build = result_badge(result), result.build
    launches = [launch(kernel) for _, kernel in kernels_of(build)] if build is not None else []
    told = "".join(f'<p class="why">{html.escape(text)}</p>' for text in launches)
    st.html(f'<div class="kernel"><b>{html.escape(name)}</b>{badge_html(badge)}</div>{told}')
    text = _text(desk, name, what)
    if not text:
        say.alert(badge.why or "There is no CUDA text: nothing was built.", "calm")
        return
    codeview(
        text, "cuda" if what == "CUDA" else "python", key=f"cmp_{name}_{what}", height=HEIGHT,
        label=f"{name}: {what}", folds=marks.boilerplate(text) if what == "CUDA" else None,
    )  # fmt: skip
