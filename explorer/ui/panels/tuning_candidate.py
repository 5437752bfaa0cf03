"""One candidate: its decisions, its schedule step by step, and how it becomes a variant."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import streamlit as st

from explorer import workbench
from explorer.errors import ToolMissing, UserError
from explorer.experiment import Variant
from explorer.model.view import Proposal, View
from explorer.tuning.events import Candidate
from explorer.ui import desk as desks
from explorer.ui import moves, say, state, tunes, tunes_words
from explorer.ui.ask import PATIENCE_S
from explorer.ui.background import Answer
from explorer.ui.components.codeview import codeview, diffview
from explorer.ui.components.loopgraph import loopgraph, nest_dot
from explorer.ui.desk import Desk
from explorer.ui.panels import tuning_live, tuning_steer
from explorer.ui.panels.code import spans
from explorer.ui.tunes import Watch
from explorer.ui.words import badge_html

HEIGHT = 430
POLL_S = 0.4
STEPS_WAIT_S = 2.0
VIEWS = ("TVMScript", "This step", "All steps so far")
WAYS = {
    "Make it a variant": "", "Compare it": "Compare", "Time it": "Timing", "Export it": "Export",
}  # fmt: skip
"""Each button's label, and the lower tab that it opens."""


def draw(desk: Desk, watch: Watch, function: str) -> None:
    """The candidate that was picked, else the best one of a search that has ended."""

    def part() -> None:
        candidate = looked_at(watch, function)
        if candidate is None:
            say.note("Pick a candidate in the table: its decisions and steps appear here.")
            return
        with st.container(border=True, key="tune_candidate_box"):
            _head(watch, candidate)
            left, right = st.columns([1, 2.8], gap="medium")
            with left:
                tuning_steer.decisions(watch, candidate)
            with right:
                _schedule(desk, watch, candidate)

    st.fragment(part, key=tunes.CANDIDATE)()


def looked_at(watch: Watch, function: str) -> Candidate | None:
    """The candidate to show, or None."""
    id = tuning_live.picked(watch)
    if id is not None and watch.summary.candidates[id].function == function:
        return watch.summary.candidates[id]
    return None if watch.active else watch.summary.best(function)


def proposal(watch: Watch, id: int) -> Answer[Proposal]:
    """A candidate as steps behind those that the job keeps."""
    return state.background().ask(workbench.candidate, watch.path, id, wait_s=STEPS_WAIT_S)


def _wait(watch: Watch, id: int) -> None:
    """Draw the page once the steps are there."""
    if not state.background().ask(workbench.candidate, watch.path, id).pending:
        st.rerun()


def name_of(watch: Watch, candidate: Candidate) -> str:
    """What its variant is called."""
    more = f" {candidate.function}" if len(watch.functions) > 1 else ""
    return f"tuned{more} {candidate.id}"


def _head(watch: Watch, candidate: Candidate) -> None:
    fate, check = tunes_words.fate_badge(candidate), tunes_words.check_of(watch.summary, candidate)
    parts = [candidate.origin]
    parts += [f"trial {candidate.trial}"] if candidate.trial else []
    parts += [f"built in {candidate.build_s:.2g} s"] if candidate.build_s else []
    parts += [f"by {candidate.by}"] if candidate.by else []
    figure = tunes_words.figure_text(candidate)
    shown = tunes_words.figure_text(candidate) and badge_html(check)
    st.html(
        f'<div class="kernel"><span class="node-title">Candidate {candidate.id}</span>'
        f"<b>{say.inline(figure)}</b>{badge_html(fate)}{shown}"
        f"<span>{say.inline(' · '.join(parts))}</span></div>"
    )
    if candidate.reason:
        say.note(candidate.reason)
    elif figure and check.why:
        say.note(check.why)


def _schedule(desk: Desk, watch: Watch, candidate: Candidate) -> None:
    """The slider over its steps, graph and text after them, and what can be done with it."""
    answer = proposal(watch, candidate.id)
    if answer.problem is not None:
        say.problem(answer.problem, "calm")
        if answer.problem.kind in ("WorkerDied", "WorkerBug"):
            st.button("Try again", key="tune_steps_again", on_click=state.again)
        return
    if answer.value is None:
        say.note("Its steps are being replayed…")
        st.fragment(_wait, run_every=POLL_S)(watch, candidate.id)
        return
    steps = workbench.steps_of(answer.value)
    if answer.value.refusal is not None:
        say.problem(answer.value.refusal, "calm")
    if not steps:
        say.note(answer.value.note or "It has no steps: it is the function as it was.")
        return
    key = f"tune_step_{watch.path}_{candidate.id}"
    at = st.slider(
        f"Step of {len(steps)}", 0, len(steps), len(steps), key=key,
        help="Arrow keys move it, too. A variant made here keeps the steps up to it; the others "
        "can be done again.",
    )  # fmt: skip
    try:
        before, now = _view(watch, steps[: max(at - 1, 0)]), _view(watch, steps[:at])
        base = _view(watch, ())
    except UserError as error:
        say.problem(error.problem)
        return
    st.html(f'<p class="why" role="status">{say.inline(step_line(now, at))}</p>')
    _ways(desk, watch, candidate, steps, at)
    graph, text = st.columns([1, 1.25], gap="small")
    with graph:
        _graph(now, candidate.function)
    with text:
        _text(base, before, now, at)


def step_line(view: View, at: int) -> str:
    """The line of Python that is the step the slider stands at."""
    if at == 0:
        return "Before the first step."
    step = view.steps[-1]
    line = step.lines[-1] if step.lines else ""
    refused = "" if step.refusal is None else f" {step.refusal.sentence()}"
    return f"Step {at}: `{line}`{refused}"


def _view(watch: Watch, steps: tuple[Any, ...]) -> View:
    job = watch.job
    answer = state.background().ask(
        workbench.view, job.source, job.steps + steps, wait_s=PATIENCE_S
    )
    if answer.problem is not None:
        raise UserError.of(answer.problem)
    if answer.value is None:
        raise UserError("The workers are still busy with this.", do="Try again in a moment.")
    return answer.value


def _graph(view: View, function: str) -> None:
    try:
        loopgraph(
            nest_dot(view.nest, only=function), key="tune_graph", height=HEIGHT, channel="tune",
            on_pick=_nothing, on_action=_nothing, label="Loop nest of the candidate",
        )  # fmt: skip
    except ToolMissing as error:
        say.problem(error.problem)


def _nothing() -> None:
    """The candidate's graph is looked at, not worked on."""


def _text(base: View, before: View, now: View, at: int) -> None:
    what = st.segmented_control(
        "Text", VIEWS, default=VIEWS[0], key="tune_text", required=True,
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip
    height = HEIGHT - 46
    if what == VIEWS[0]:
        codeview(
            now.script, "python", key="tune_script", height=height, label="Candidate: TVMScript",
            spans=spans(now.nest), channel="tune",
        )  # fmt: skip
        return
    old, label = (before, f"step {at - 1}") if what == VIEWS[1] else (base, "before the search")
    if old.script == now.script:
        say.note("This step changes nothing in the text." if at else "There is no step yet.")
        return
    diffview(
        old.script, now.script, "python", key="tune_diff", height=height,
        labels=(label, f"step {at}"),
    )  # fmt: skip


def _ways(desk: Desk, watch: Watch, candidate: Candidate, steps: tuple[Any, ...], at: int) -> None:
    """What turns it into a variant, if what is open is what it was searched for."""
    if desk.source != watch.job.source:
        say.note("This search is about another module than the one that is open.")
        st.button(
            "Open its module", key="tune_open_module", on_click=_go,
            args=("", _open_module, watch),
        )  # fmt: skip
        return
    wanted = watch.job.target
    if desk.experiment.target != wanted:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(
                f'<p class="why">It was searched for {say.inline(wanted)}; the page builds for '
                f"{say.inline(desk.experiment.target)}.</p>", width="content",
            )  # fmt: skip
            st.button(
                f"Build for {say.plain(wanted)}", key="tune_target", on_click=_go,
                args=("", desks.set_target, wanted),
            )  # fmt: skip
    count = len(watch.job.steps) + at
    made = (as_variant, name_of(watch, candidate), watch.job.steps + steps, count)
    with st.container(horizontal=True):
        for label, tab in WAYS.items():
            kind: Literal["primary", "secondary"] = "secondary" if tab else "primary"
            st.button(label, key=f"tune_way_{tab}", type=kind, on_click=_go, args=(tab, *made))


def _go(tab: str, move: Any, *args: Any) -> None:
    """A control's callback: make a move on the desk and open a lower tab."""
    state.made(move, *args)
    if tab:
        state.preset("below", tab)
    tunes.redraw()


def as_variant(desk: Desk, name: str, steps: tuple[Any, ...], count: int) -> Desk:
    """The desk with steps as a variant on screen, the first `count` of them done.

    A variant of the same name that still has these steps is shown again.
    """
    known = desk.experiment.variant(name)
    if known is None or known.steps + known.undone != steps:
        desk = desks.new_variant(desk, name)
        name = desk.variant
    made = Variant(name, steps).jump(count)
    experiment = desk.experiment.put(made)
    return msgspec.structs.replace(desk, experiment=experiment, variant=name, form=None)


def _open_module(desk: Desk, watch: Watch) -> Desk:
    job = watch.job
    opened = moves.open_text(job.source, title=job.title, target=job.target)
    return desks.set_sizes(opened, job.sizes)
