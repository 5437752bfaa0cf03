"""The page: an opening screen, or the workbench in regions that are drawn on their own.

Every region is drawn from the desk; what is slow is asked in the background and drawn when it is
there.
"""

from __future__ import annotations

import gc
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
from explorer.ui.drawn import Region
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
    no_compiler,
    opening,
    source,
    timing,
    tuning,
    variants,
)  # fmt: skip
from explorer.ui.regions import clock, region
from explorer.ui.words import Badge, result_badge

HEIGHT = 600
FIRST_SAMPLE = "03_matmul_float32"
"""A new page opens this: three loops, nothing bound, three cures."""


def draw() -> None:
    """Draw the screen that is up."""
    st.html(theme.style())
    _first_visit()
    st.query_params["e"] = state.tab_id()
    if state.desk() is None or state.screen() == "open":
        opening.draw()
        return
    parts: dict[Region, Callable[[Desk], bool]] = {
        "graph": _graph, "inspector": _inspector, "code": _code, "link": _link,
        "verdicts": _verdicts, "below": _below, "header": header.draw, "clock": clock,
    }  # fmt: skip
    places = _places()
    names = state.drawn().page()
    if not state.drawn().whole:
        places["header"].html('<div class="soon"></div>')
    for name in names:
        with places[name]:
            region(name, parts[name])


@st.cache_resource(show_spinner=False)
def _set_aside(tab: str) -> None:
    """Keep what the page has loaded out of garbage collection, once for each tab of the server.

    Streamlit collects after every run.  Going through all modules again takes it 40 to 80 ms each
    time, and nothing is sent meanwhile.
    """
    gc.collect()
    gc.freeze()


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


def _places() -> dict[Region, DeltaGenerator]:
    """Where each region is on the page, from top to bottom."""
    head, verdicts = st.container(key="region_header"), st.container(key="region_verdicts")
    left, middle, right = st.columns([1.1, 1.35, 0.95], gap="small")
    return {
        "header": head, "verdicts": verdicts, "graph": left, "code": middle, "inspector": right,
        "below": st.container(), "link": st.container(key="region_link"),
        "clock": st.container(key="region_clock"),
    }  # fmt: skip


def _graph(desk: Desk) -> bool:
    try:
        graph.draw(desk, ask.view(desk).nest, HEIGHT + 40)
    except UserError as error:
        _failed(error.problem)
    return False


def _inspector(desk: Desk) -> bool:
    view = _view(desk)
    if view is not None:
        inspector.draw(desk, view, moves.node_offers(desk), HEIGHT + 40)
    return False


def _code(desk: Desk) -> bool:
    view = _view(desk)
    return view is not None and code.draw(desk, view, HEIGHT - 14)


def _link(desk: Desk) -> bool:
    """What graph and code mark; True while the build that tells it is being looked at."""
    view = _view(desk)
    if view is None:
        return False
    built = ask.result(desk, wait_s=ask.BUILD_WAIT_S)
    link(
        key="linked", selected=desk.selected, offers=moves.node_offers(desk),
        lit=findings.lit(built.build, view.nest),
        marks=code.cuda_marks(desk, view.nest, built.build),
    )  # fmt: skip
    return bool(built.waiting)


def _verdicts(desk: Desk) -> bool:
    """Variants with their verdicts, and what is wrong with the one shown; True while one waits."""
    strip = st.container()
    _notice(state.notice())
    source.line(desk)
    if _view(desk) is None:
        with strip:
            variants.draw(desk, {name: Badge("", "calm") for name in desks.names(desk)})
        return False
    results = variants.results(desk)
    with strip:
        variants.draw(desk, {name: result_badge(one) for name, one in results.items()})
    shown = results[desk.variant]
    trying = False
    if shown.build is not None:
        trying = findings.callout(desk, shown.build)
    elif shown.problem is not None:
        say.problem(shown.problem)
    fetching = no_compiler.draw(desk, results)
    return trying or fetching or any(one.waiting for one in results.values())


def _below(desk: Desk) -> bool:
    """The tabs under the workbench; only the open one is drawn.  True while it waits."""
    view = _view(desk)
    if view is None:
        return False
    results = variants.results(desk)
    result = results[desk.variant]
    draws: dict[str, Callable[[], bool | None]] = {
        "Findings": lambda: findings.draw(desk, result),
        "Compare": lambda: compare.draw(desk, results),
        "Timing": lambda: timing.draw(desk),
        "Tuning": lambda: tuning.draw(desk),
        "Automatic": lambda: automatic.draw(desk, view.nest),
        "Compiler": lambda: compiled.draw(desk, result),
        "Export": lambda: export.draw(desk, result),
        "Source": lambda: source.draw(desk),
    }
    waits = False
    # Its own request: without one, a tick of the clock that comes with the click would replace it.
    key = state.control("below")
    tabs = st.tabs(list(draws), key=key, on_change=state.draw, args=(["below"],))
    for tab, (title, part) in zip(tabs, draws.items(), strict=True):
        if tab.open:
            with tab:
                waits = bool(part()) or waits
            _set_aside(title)
    return waits


def _view(desk: Desk) -> View | None:
    """The current variant as it stands; None when it can't be replayed, which `_graph` tells."""
    try:
        return ask.view(desk)
    except UserError:
        return None


def _failed(problem: Problem) -> None:
    say.problem(problem)
    say.note("The experiment is untouched: every variant and step is still there.")
    st.button("Try again", type="primary", key="again", on_click=state.again)


def _notice(problem: Problem | None) -> None:
    if problem is None or problem.kind == "StepRefused":
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        say.alert(say.sentence(problem))
        st.button("Dismiss", on_click=state.dismissed, key="dismiss")
    say.details(problem.details)
