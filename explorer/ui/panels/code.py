"""The code of the current variant: TVMScript, CUDA, host code, and what changed."""

from __future__ import annotations

import html

import streamlit as st

from explorer.model.nest import Nest
from explorer.model.result import Build
from explorer.model.view import View
from explorer.ui import marks
from explorer.ui import desk as desks
from explorer.ui.background import Answer
from explorer.ui.components.codeview import codeview, diffview
from explorer.ui.desk import Desk
from explorer.ui.words import Badge, badge_html, kernels_of, launch

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


def draw_script(view: View, height: int) -> None:
    """The TVMScript of the current state, its lines linked to the graph."""
    codeview(
        view.script, "python", key="script", height=height, label="TVMScript", pane="script",
        spans=spans(view.nest),
    )  # fmt: skip


def draw_cuda(built: Answer[Build], height: int) -> None:
    """The device text with its boilerplate folded, or why there is none."""
    build = built.value
    if build is None:
        problem = built.problem
        st.info("The CUDA text is being made…") if problem is None else st.error(problem.what)
        return
    if not build.source:
        st.info(_why_no_source(build))
        return
    for function, kernel in kernels_of(build):
        status = Badge("host loop", "bad") if kernel.launches != "1" else None
        st.html(
            f'<div class="kernel"><code>{html.escape(kernel.name)}</code>'
            f"<span>{html.escape(launch(kernel))}</span>"
            f"{badge_html(status) if status else ''}</div>"
        )
        del function
    codeview(
        build.source, "cuda", key="cuda", height=height - 26 * min(len(kernels_of(build)), 4),
        label="CUDA source", pane="cuda", folds=marks.boilerplate(build.source),
    )  # fmt: skip


def draw_host(built: Answer[Build], height: int) -> None:
    """The host code that launches the kernels."""
    if built.value is None or not built.value.host:
        st.info("There is no host code: nothing was built.")
        return
    codeview(built.value.host, "cuda", key="host", height=height, label="Host code")


def draw_changes(original: View, view: View, name: str, height: int) -> None:
    """The TVMScript before and after the steps."""
    diffview(
        original.script, view.script, "python", key="changes", height=height,
        labels=(desks.ORIGINAL, name),
    )  # fmt: skip


def _why_no_source(build: Build) -> str:
    reasons = [build.reason, *(f.reason for f in build.functions if f.reason)]
    return next((reason for reason in reasons if reason), "No kernel came out: there is no CUDA.")
