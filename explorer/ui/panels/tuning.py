"""Tuning: a search for schedules that is started, watched, steered, stopped and kept."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import streamlit as st

from explorer import tunes as jobs
from explorer.errors import ExperimentError
from explorer.ui import say, state, tunes, tunes_words
from explorer.ui.components.picktable import Cell, Row, picktable
from explorer.ui.desk import Desk
from explorer.ui.panels import tuning_candidate, tuning_import, tuning_live, tuning_setup
from explorer.ui.panels import tuning_steer as steer
from explorer.ui.panels.header import target_name
from explorer.ui.tunes import Watch

POLL_S = 1.0
LISTED = 12
"""So many searches are listed, until more are asked for."""
LIST_HEIGHT = 420
LESSON = (
    "A search samples schedules from a space that TVM's rules span, builds and times them, and "
    "learns from the figures which ones to try next; every candidate stays to be looked at."
)


def draw(desk: Desk) -> None:
    """The searches on the left; on the right the one that is open, or the form for a new one."""
    known = jobs.jobs()
    path = tunes.shown(known)
    st.html(f"<style>{_sheet()}</style>")
    opened: tuple[Watch, str] | None = None
    left, right = st.columns([1.2, 3.4], gap="medium")
    with left:
        active = any(each.state in tunes.ACTIVE for each in known)
        st.fragment(_list, run_every=POLL_S if active else None)(path)
    with right:
        if path == tuning_import.OPEN:
            tuning_import.draw(desk)
        elif path:
            opened = _job(path)
        else:
            st.html('<div class="node-title">New search</div>')
            say.note(LESSON)
            tuning_setup.draw(desk)
    if opened is not None:
        tuning_candidate.draw(desk, *opened)
        steer.draw(desk, opened[0])


@cache
def _sheet() -> str:
    return (Path(__file__).parent / "tuning.css").read_text()


def _list(path: str) -> None:
    """All searches with their state, from all tabs and from the command line."""
    known = jobs.jobs()
    with st.container(horizontal=True):
        st.button("New search", key="tune_new", disabled=not path, on_click=tunes.go_to, args=("",))
        st.button(
            "Open a folder…", key="tune_folder", disabled=path == tuning_import.OPEN,
            on_click=tunes.go_to, args=(tuning_import.OPEN,),
            help="A search from elsewhere, or a database that plain TVM wrote.",
        )  # fmt: skip
    every = len(known) <= LISTED or st.toggle("All of them", key="tune_all")
    picktable(
        [_row(each) for each in (known if every else known[:LISTED])], key="tune_list",
        label="Searches", on_pick=_picked, selected=path, height=LIST_HEIGHT, group="list",
        empty="No search yet. One that is started here keeps running when the page is closed.",
    )  # fmt: skip


def _row(known: jobs.Known) -> Row:
    badge = tunes_words.state_badge(known.state)
    total = known.job.trials
    about = f"{target_name(known.job.target)}, {day(known.at)}"
    return Row(
        id=known.path,
        cells=(
            f"{known.title}\n{about}", Cell(badge.text, tone=badge.tone, why=badge.why),
            Cell(f"{known.trials}/{total}", share=min(known.trials / max(total, 1), 1.0)),
        ),
        why=f"{tunes_words.title(known.job)} for {known.job.target}\n{known.path}",
    )  # fmt: skip


def day(at: float, now: float | None = None) -> str:
    """A time of day, with its date unless it is today."""
    then, today = time.localtime(at), time.localtime(now)
    form = "%H:%M" if then[:3] == today[:3] else "%d %b %H:%M"
    return time.strftime(form, then)


def _picked() -> None:
    picked = state.fired("tune_list", "pick")
    if picked:
        tunes.go_to(picked["id"])


def _job(path: str) -> tuple[Watch, str] | None:
    """A search as it is now, and the function that is looked at; None when it can't be read."""
    try:
        watch = tunes.watch(path)
    except ExperimentError as error:
        say.problem(error.problem)
        return None
    job = watch.job
    about = [f"for {job.target}", tunes_words.RUNNERS[job.runner], f"{job.trials} trials"]
    about += [f"at most {job.budget_min:g} min"] if job.budget_min is not None else []
    about += [f"after {len(job.steps)} steps that are kept"] if job.steps else []
    st.html(
        f'<div class="kernel"><span class="node-title">{say.inline(tunes_words.title(job))}</span>'
        f"<span>{say.inline(' · '.join(about))}</span></div>"
    )
    of, left_out = st.session_state.get("tune_left_out", ("", ()))
    if of == path:
        say.alert("Not taken over: " + " ".join(left_out), "warn")
    function = watch.functions[0]
    if len(watch.functions) > 1:
        function = st.segmented_control(
            "Function", watch.functions, default=function, key=f"tune_of_{path}", required=True,
            format_func=say.plain,
        )  # fmt: skip
    function = function or watch.functions[0]
    tuning_live.draw(watch, function)
    return watch, function
