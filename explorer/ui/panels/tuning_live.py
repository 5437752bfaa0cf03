"""A search while it runs: figures, buttons, charts, the funnel and what is behind its counts."""

from __future__ import annotations

import time
from typing import Any, Literal

import streamlit as st

from explorer import tunes as jobs
from explorer.errors import Problem
from explorer.tuning.events import Candidate, Fate
from explorer.tuning.summary import FUNNEL, Summary, figure
from explorer.ui import say, state, tunes
from explorer.ui import tunes_words as words
from explorer.ui.components.picktable import Cell, Row, picktable
from explorer.ui.panels import tuning_plots as plots
from explorer.ui.times import micros
from explorer.ui.tunes import Watch
from explorer.ui.words import Badge, badge_html

POLL_S = 0.5
ROWS = 25
MOST_ROWS = 400
TABLE_HEIGHT = 330
MORE_TRIALS = 64
Shown = Fate | Literal["sampled"]
ALL: Literal["sampled"] = "sampled"
"""Picks every candidate, whatever became of it."""
WITH_FIGURE: tuple[Fate, ...] = ("measured", "predicted")
UNRUN: tuple[Fate, ...] = ("run_failed", "wrong", "measured")
"""Fates that nothing meets where nothing is run."""


def draw(watch: Watch, function: str) -> None:
    """Follow a search, again and again while it runs."""

    def part() -> None:
        watch.look()
        _controls(watch)
        st.html(words.tiles_html(tiles(watch, function, time.time())))
        if told := words.method(watch.summary):
            say.note(told)
        _charts(watch, function)
        _funnel(watch, function)
        if watch.active != active:
            st.rerun()

    active = watch.active
    st.fragment(part, run_every=POLL_S if active else None, key=tunes.LIVE)()


def picked(watch: Watch) -> int | None:
    """The candidate that is looked at, or None."""
    found = st.session_state.get(f"tune_pick_{watch.path}")
    return found if found in watch.summary.candidates else None


def pick(watch: Watch, id: int) -> None:
    """In a callback: look at a candidate."""
    st.session_state[f"tune_pick_{watch.path}"] = id
    tunes.redraw(tunes.LIVE, tunes.CANDIDATE)


def tiles(watch: Watch, function: str, now: float) -> list[tuple[str, str, str]]:
    """The figures on top."""
    summary, job = watch.summary, watch.job
    phase = words.PHASES.get(summary.phase.get(function, ""), "starting")
    if summary.finished is not None:
        phase = "starting"  # again: the process has not told so yet
    found = [("Phase", phase if watch.active else words.STATES[watch.state][0], "")]
    found += [("Trials", f"{summary.trials()} of {job.trials}", "Candidates that were built.")]
    best = summary.best(function)
    name = "Best" if watch.state == "ended" else "Best so far"
    name += ", predicted" if summary.predicted else ""
    about = "" if best is None else f"candidate {best.id}, {best.origin}"
    found += [(name, "none yet" if best is None else micros(figure(best) or 0), about)]
    rival = best_rival(summary, function)
    if rival is not None:
        found += [(f"Best rival: {rival[0]}", micros(rival[1]), "Of the variants beside it.")]
    left = summary.left_s(now)
    if watch.active and left is not None:
        found += [("Time left", f"about {words.duration(left)}", "An estimate, by the pace.")]
    return found


def best_rival(summary: Summary, function: str) -> tuple[str, float] | None:
    """Name and figure of the fastest variant beside the candidates, or None."""
    known = [
        (us, each.name)
        for each in summary.rivals.values()
        if each.function == function
        and (us := each.predicted_us if summary.predicted else each.us) is not None
    ]
    return (min(known)[1], min(known)[0]) if known else None


def _controls(watch: Watch) -> None:
    """State and what can be done about it."""
    summary = watch.summary
    badge = words.state_badge(watch.state, summary.finished)
    if watch.stopping:
        badge = Badge("stopping…", "busy", "Its process ends within two seconds.")
    with st.container(horizontal=True, vertical_alignment="center", key="tune_controls"):
        st.html(f"{badge_html(badge)}", width="content")
        path = watch.folder.path
        if watch.state == "running":
            st.button(
                "Pause", key="tune_pause", on_click=tunes.do, args=(jobs.pause, path),
                disabled=watch.stopping,
            )  # fmt: skip
        if watch.state in ("paused", "killed", "new"):
            label = "Start" if watch.state == "new" else "Resume"
            st.button(
                label, key="tune_resume", type="primary", on_click=tunes.go_on, args=(watch,),
                disabled=watch.stopping,
            )  # fmt: skip
        if watch.active:
            st.button(
                "Stop and keep", key="tune_stop", on_click=tunes.stop, args=(watch,),
                disabled=watch.stopping, help="Within two seconds; everything found is kept.",
            )  # fmt: skip
        if watch.state == "ended":
            label, more = further(watch)
            st.button(label, key="tune_more", on_click=tunes.go_on, args=(watch, more))
        finished = summary.finished if watch.state == "ended" else None
        failed = finished is not None and finished.how == "failed"
        if badge.why and not failed:
            st.html(f'<p class="why" role="status">{say.inline(badge.why)}</p>', width="stretch")
    if finished is not None and failed:
        reason = finished.reason or "It gave no reason."
        say.problem(Problem(kind="UserError", what="The search ended early.", why=reason))


def further(watch: Watch) -> tuple[str, int | None]:
    """How a search that has ended goes on: a button's label, and the trials it then has."""
    left = watch.job.trials - watch.summary.trials()
    if left > 0:
        return f"Resume: {left} trials left", None
    return f"{MORE_TRIALS} more trials", watch.job.trials + MORE_TRIALS


def _charts(watch: Watch, function: str) -> None:
    """Convergence and cost model; only what has points."""
    summary = watch.summary
    if not summary.ranked(function):
        if watch.active:
            say.note("The first figure comes within seconds; then the curve is drawn here.")
        return
    scored = summary.scored(function)
    left, right = st.columns([1.6, 1], gap="small")
    with left:
        _chart(
            watch, watch.kept(("curve", function), lambda: plots.convergence(summary, function)),
            "tune_curve", "How the best figure fell, and every candidate",
        )  # fmt: skip
    with right:
        if len(scored) < 2:
            say.note(
                "The cost model has ranked nothing yet that has a figure. Its word against the "
                "figures is drawn here once it has."
            )
            return
        _chart(
            watch, watch.kept(("model", function), lambda: plots.cost_model(summary, function)),
            "tune_scores", "The cost model's score against the figures",
        )  # fmt: skip
        agreement = summary.agreement(function)
        if agreement is not None:
            say.note(
                f"The order agrees {agreement:+.2f} (1: the same, 0: not at all) over "
                f"{len(scored)} candidates."
            )


def _chart(watch: Watch, drawn: Any, key: str, alt: str) -> None:
    """A chart whose dots open their candidates."""

    def chosen() -> None:
        id = plots.chosen(st.session_state[key])
        if id is not None:
            pick(watch, id)

    st.plotly_chart(
        drawn, key=key, alt=alt, on_select=chosen, selection_mode="points",
        config={"displaylogo": False, "displayModeBar": False},
    )  # fmt: skip


def _funnel(watch: Watch, function: str) -> None:
    """Where candidates ended, and those of the count that is picked."""
    left, right = st.columns([1, 1.9], gap="medium")
    fate, by = shown(watch)
    with left:
        picktable(
            funnel_rows(watch.summary, function, fate), key="tune_funnel", on_pick=_opened,
            label="What became of the candidates", group=fate, head=("Candidates", ""), wide=1,
            selected=f"{fate}|{by}", height=TABLE_HEIGHT + 36,
        )  # fmt: skip
    with right:
        _table(watch, function, fate, by)


def shown(watch: Watch) -> tuple[Shown, str]:
    """The fate (or all), and what ended them ("": anything), whose candidates are listed."""
    fate, _, by = str(st.session_state.get("tune_fate", "|")).partition("|")
    fates = fates_of(watch.summary)
    if fate == ALL:
        return ALL, ""
    return next((each for each in fates if each == fate), fates[-1]), by


def fates_of(summary: Summary) -> list[Fate]:
    """The fates that candidates of this search can meet."""
    if summary.predicted:
        return [fate for fate in FUNNEL if fate not in UNRUN]
    return [fate for fate in FUNNEL if fate != "predicted"]


def funnel_rows(summary: Summary, function: str, open_: str) -> list[Row]:
    """A bar for each fate; under the open one, what ended its candidates."""
    counts = summary.funnel(function)
    total = sum(counts.values())
    rows = [Row(f"{ALL}|", ("sampled", Cell(str(total), share=_share(total, total))))]
    for fate in fates_of(summary):
        if fate == "banned" and not counts[fate]:
            continue
        label, _, about = words.FATES[fate]
        bar = Cell(str(counts[fate]), share=_share(counts[fate], total))
        rows.append(Row(f"{fate}|", (label, bar), about))
        reasons = [each for each in summary.reasons(fate, function) if each[0]]
        if fate == open_ and reasons:
            rows += [
                Row(f"{fate}|{by}", (f"\u2003by {by}", Cell(str(n), share=_share(n, total))))
                for by, n in reasons
            ]
    return rows


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


def _opened() -> None:
    chosen = state.fired("tune_funnel", "pick")
    if chosen:
        st.session_state["tune_fate"] = chosen["id"]
        st.session_state["tune_rows"] = ROWS


def _table(watch: Watch, function: str, fate: Shown, by: str) -> None:
    found = listed(watch.summary, function, fate, by)
    limit = int(st.session_state.get("tune_rows", ROWS))

    def chosen() -> None:
        fired = state.fired("tune_rows_table", "pick")
        if fired:
            pick(watch, int(fired["id"]))

    head, label, about = heads(fate)
    at = picked(watch)
    picktable(
        [row(watch.summary, each, fate) for each in found[:limit]], key="tune_rows_table",
        head=head, label=f"Candidates: {label}", on_pick=chosen,
        wide=2 if fate == ALL or fate in WITH_FIGURE else 1,
        selected="" if at is None else str(at),
        height=TABLE_HEIGHT, group=f"{function}|{fate}|{by}|{limit}",
        empty=f"No candidate was {label} so far. {about}",
    )  # fmt: skip
    if len(found) > limit:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(f'<p class="why">{limit} of {len(found)} are listed.</p>', width="content")
            if limit < MOST_ROWS:
                st.button("More", key="tune_more_rows", on_click=_more, args=(limit,))


def _more(limit: int) -> None:
    st.session_state["tune_rows"] = min(limit * 4, MOST_ROWS)


def heads(fate: Shown) -> tuple[tuple[str, ...], str, str]:
    """Column titles of a table, its label, and what is in it."""
    if fate == "sampled":
        return ("", "Fate", "Figure or why", "Origin"), "sampled", "Every candidate there was."
    label, _, about = words.FATES[fate]
    if fate in WITH_FIGURE:
        return ("", "Figure", "Origin", "Check"), label, about
    return ("", "Why", "By", "Origin"), label, about


def listed(summary: Summary, function: str, fate: Shown, by: str) -> list[Candidate]:
    """Those with a figure best first (refuted ones last), others latest first."""
    if fate == "sampled":
        return summary.latest(function)
    found = summary.with_fate(fate, function)
    if fate in WITH_FIGURE:
        best = summary.ranked(function)
        return best + [each for each in found if each not in best]
    return [each for each in found if not by or each.by == by]


def row(summary: Summary, each: Candidate, fate: Shown) -> Row:
    """A candidate as a row of a table."""
    text = words.figure_text(each)
    if fate == "sampled":
        badge = words.fate_badge(each)
        cells: tuple[Cell | str, ...] = (
            f"#{each.id}", Cell(badge.text, tone=badge.tone), text or each.reason, each.origin,
        )  # fmt: skip
    elif fate in WITH_FIGURE:
        badge = words.check_of(summary, each)
        cells = (
            f"#{each.id}", text, each.origin, Cell(badge.text, tone=badge.tone, why=badge.why),
        )  # fmt: skip
    else:
        cells = (f"#{each.id}", each.reason, each.by, each.origin)
    return Row(str(each.id), cells)
