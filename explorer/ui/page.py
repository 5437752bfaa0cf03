"""The page from top to bottom.  Every run draws it from the desk; what is slow is asked in the
background and drawn when it is there."""

from __future__ import annotations

import sys
from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import workbench
from explorer.errors import Problem, UserError
from explorer.model.view import View
from explorer.ui import ask, moves, say, state, theme
from explorer.ui import desk as desks
from explorer.ui.components.link import link
from explorer.ui.desk import Desk
from explorer.ui.panels import (
    automatic,
    code,
    compare,
    compiled,
    export,
    findings,
    graph,
    header,
    inspector,
    opening,
    source,
    timing,
    variants,
)  # fmt: skip
from explorer.ui.words import Badge, result_badge

HEIGHT = 600
POLL_S = 0.4
FIRST_SAMPLE = "03_matmul_float32"
"""A new page opens this: three loops, nothing bound, three cures."""


def draw() -> None:
    """Draw the screen that is up."""
    st.html(theme.style())
    _first_visit()
    st.query_params["e"] = state.tab_id()
    desk = state.desk()
    if desk is None or state.screen() == "open":
        opening.draw()
        return
    _bench(desk)


def _first_visit() -> None:
    """What a new tab shows: its experiment from before a reload, the file named, else a sample."""
    if "started" in st.session_state:
        return
    st.session_state["started"] = True
    workbench.start()
    with st.spinner("Starting TVM…", show_time=True):
        _first_desk()


def _first_desk() -> None:
    kept = state.shelf().get(state.tab_id())
    try:
        if kept is not None:
            state.put(moves.open_experiment(kept))
            return
    except UserError as error:
        state.tell(error.problem)
    if len(sys.argv) > 1:
        opening.open_path(sys.argv[1])
        if state.desk() is not None:
            return
        st.session_state["screen"] = "open"
        return
    told = state.notice()
    opening.open_sample(FIRST_SAMPLE)
    if told is not None:
        state.tell(told)


def _bench(desk: Desk) -> None:
    finished = state.background().finished
    header.draw(desk)
    strip = st.container()
    _notice(state.notice())
    source.line(desk)
    callout = st.container()
    try:
        view = ask.view(desk)
    except UserError as error:
        variants_only(desk, strip)
        _failed(error.problem)
        return
    found = moves.node_offers(desk)
    left, middle, right = st.columns([1.1, 1.35, 0.95], gap="small")
    with left:
        graph.draw(desk, view.nest, HEIGHT)
    with right:
        inspector.draw(desk, view, found, HEIGHT + 40)
    with middle:
        script, cuda, host, changes = st.tabs(code.TABS, key="code", on_change="rerun")
        if script.open:
            with script:
                code.draw_script(view, HEIGHT - 14)
    built = ask.result(desk, wait_s=ask.BUILD_WAIT_S)
    with middle:
        if cuda.open:
            with cuda:
                code.draw_cuda(built, HEIGHT - 14)
        if host.open:
            with host:
                code.draw_host(built, HEIGHT - 14)
        if changes.open:
            with changes:
                code.draw_changes(ask.view(desk, desks.ORIGINAL), view, desk.variant, HEIGHT - 14)
    with st.container(key="link"):
        link(
            key="linked", selected=desk.selected, offers=found,
            lit=findings.lit(built.build, view.nest),
            marks=code.cuda_marks(desk, view.nest, built.build),
        )  # fmt: skip
    trying = False
    if built.build is not None:
        with callout:
            trying = findings.callout(desk, built.build)
    elif built.problem is not None:
        with callout:
            say.problem(built.problem)
    results = variants.results(desk, built)
    with strip:
        variants.draw(desk, {name: result_badge(one) for name, one in results.items()})
    pending = _below(desk, view, results)
    if pending or trying or any(one.waiting for one in results.values()):
        st.fragment(_poll, run_every=POLL_S)(finished)


def _below(desk: Desk, view: View, results: dict[str, ask.Result]) -> bool:
    """The tabs under the workbench; only the open one is drawn.  True while one waits."""
    result = results[desk.variant]
    draws: dict[str, Callable[[], bool | None]] = {
        "Findings": lambda: findings.draw(desk, result),
        "Compare": lambda: compare.draw(desk, results),
        "Timing": lambda: timing.draw(desk),
        "Automatic": lambda: automatic.draw(desk, view.nest),
        "Compiler": lambda: compiled.draw(desk, result),
        "Export": lambda: export.draw(desk, result),
        "Source": lambda: source.draw(desk),
    }
    waits = False
    tabs = st.tabs(list(draws), key="below", on_change="rerun")
    for tab, part in zip(tabs, draws.values(), strict=True):
        if tab.open:
            with tab:
                waits = bool(part()) or waits
    return waits


def _poll(finished: int) -> None:
    """Draw the page again once something that was waited for is there."""
    if state.background().finished != finished:
        st.rerun()


def variants_only(desk: Desk, strip: DeltaGenerator) -> None:
    """The strip without verdicts, when the current variant can't be replayed right now."""
    with strip:
        variants.draw(desk, {name: Badge("", "calm") for name in desks.names(desk)})


def _failed(problem: Problem) -> None:
    say.problem(problem)
    say.note("The experiment is untouched: every variant and step is still there.")
    st.button("Try again", type="primary", key="again", on_click=state.background().forgive)


def _notice(problem: Problem | None) -> None:
    if problem is None or problem.kind == "StepRefused":
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        say.alert(say.sentence(problem))
        st.button("Dismiss", on_click=state.dismiss, key="dismiss")
    say.details(problem.details)
