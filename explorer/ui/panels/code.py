"""The code of the current variant: TVMScript, CUDA, host code, and what changed."""

from __future__ import annotations

import html

import streamlit as st

from explorer.model.nest import Nest
from explorer.model.result import Build
from explorer.model.view import View
from explorer.ui import ask, marks, say
from explorer.ui import desk as desks
from explorer.ui.ask import Result
from explorer.ui.components.codeview import codeview, diffview
from explorer.ui.desk import Desk
from explorer.ui.words import badge_html, kernel_badge, kernels_of, launch

TABS = ("TVMScript", "CUDA", "Host", "Changes")


def spans(nest: Nest) -> dict[str, list[int]]:
    """The lines of every node in the printed TVMScript, functions included."""
    found: dict[str, list[int]] = {}
    for function in nest.functions:
        if function.span is not None:
            found[function.name] = [function.span.first, function.span.last]
        for node in function.nodes:
            if node.span is not None:
                found[node.id] = [node.span.first, node.span.last]
    return found


def cuda_marks(desk: Desk, nest: Nest, build: Build | None) -> dict[str, list[list[int]]]:
    """Lines of the CUDA text that belong to the selection, for the link component."""
    if build is None or not build.source:
        return {}
    _, at, buffer = (desk.selected or "").partition("#")
    if at:
        return {"cuda": marks.buffer_lines(buffer, build.source)}
    found = desks.selected_node(desk, nest)
    return {"cuda": marks.node_lines(found[1] if found else None, build.source)}


def draw(desk: Desk, view: View, height: int) -> bool:
    """The tabs; only the open one is drawn.  True while it waits for the build."""
    script, cuda, host, changes = st.tabs(TABS, key="code", on_change="rerun")
    if script.open:
        with script:
            draw_script(view, height)
    if changes.open:
        with changes:
            draw_changes(ask.view(desk, desks.ORIGINAL), view, desk.variant, height)
    if not cuda.open and not host.open:
        return False
    built = ask.result(desk, wait_s=ask.BUILD_WAIT_S)
    if cuda.open:
        with cuda:
            draw_cuda(built, height)
    else:
        with host:
            draw_host(built, height)
    return bool(built.waiting)


def draw_script(view: View, height: int) -> None:
    """The TVMScript of the current state, its lines linked to the graph."""
    codeview(
        view.script, "python", key="script", height=height, label="TVMScript", pane="script",
        spans=spans(view.nest),
    )  # fmt: skip


def draw_cuda(built: Result, height: int) -> None:
    """The device text with its boilerplate folded, or why there is none."""
    build = built.build
    if build is None:
        problem = built.problem
        if problem is None:
            say.note("The CUDA text is being made…")
        else:
            say.problem(problem)
        return
    if not build.source:
        say.alert(_why_no_source(build), "calm")
        return
    shown = kernels_of(build)
    lines = [
        f'<div class="kernel"><code>{html.escape(kernel.name)}</code>'
        f"<span>{html.escape(launch(kernel))}</span>"
        f"{badge_html(kernel_badge(build, function, built.waiting))}</div>"
        for function, kernel in shown
    ]
    st.html(f'<div class="kernels">{"".join(lines)}</div>')
    codeview(
        build.source, "cuda", key="cuda", height=height - 16 - 22 * min(len(shown), 3),
        label="CUDA source", pane="cuda", folds=marks.boilerplate(build.source),
        refused=marks.refused_lines(build.source, built.refused),
    )  # fmt: skip


def draw_host(built: Result, height: int) -> None:
    """The host code that launches the kernels."""
    if built.build is None or not built.build.host:
        say.note("There is no host code: nothing was built.")
        return
    codeview(built.build.host, "cuda", key="host", height=height, label="Host code")


def draw_changes(original: View, view: View, name: str, height: int) -> None:
    """The TVMScript before and after the steps."""
    diffview(
        original.script, view.script, "python", key="changes", height=height,
        labels=(desks.ORIGINAL, name),
    )  # fmt: skip


def _why_no_source(build: Build) -> str:
    reasons = [build.reason, *(f.reason for f in build.functions if f.reason)]
    return next((reason for reason in reasons if reason), "No kernel came out: there is no CUDA.")
