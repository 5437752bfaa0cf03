"""Timing: variants raced on a device, followed live, with verdicts, figures and studies."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import streamlit as st

from explorer.errors import Refusal
from explorer.model.race import Heat, Race
from explorer.model.studies import Ablation, Sweep
from explorer.ui import ask, say, state, times
from explorer.ui.desk import Desk
from explorer.ui.panels import timing_charts, timing_setup, timing_studies
from explorer.ui.races import Entry, Study, bounds

POLL_S = 0.4
BOUND_WAIT_S = 0.5
SENTENCES = 6
"""More verdicts than this are folded away."""


def draw(desk: Desk) -> bool:
    """Set up, start, follow, read; True while a bound is being worked out."""
    entry, refused = timing_setup.draw(desk)
    study = _last(desk)
    waits = _race(desk, entry, refused, study)
    st.divider()
    what = st.segmented_control(
        "Look closer", ["Sizes", "Steps"], key="time_study", persist_state="session",
        help="Sizes: the variants over a range of a size. Steps: what each step of the current "
        "variant changed and is worth.",
    )  # fmt: skip
    if what == "Sizes":
        timing_studies.sizes(desk, entry, refused, follow)
    elif what == "Steps":
        timing_studies.steps(desk, entry, refused, follow)
    return waits


def follow(study: Study, show: Callable[[], None]) -> None:
    """Show a study, again and again while it runs."""

    def part() -> None:
        _progress(study)
        show()
        if started and not study.active:
            st.rerun()

    started = study.active
    st.fragment(part, run_every=POLL_S if started else None)()


def _last(desk: Desk) -> Study | None:
    """This tab's last race, if it was about the text that is open."""
    study = state.races().of(state.tab_id(), "race")
    return study if study is not None and study.entry.source == desk.source else None


def _race(desk: Desk, entry: Entry, refused: Refusal | None, study: Study | None) -> bool:
    running = study is not None and study.active
    if refused is not None and not running:
        say.alert(times.on_page(refused.sentence()), "calm")
        timing_setup.ways_out(desk, entry.where.runner)
    elif not running:
        st.button(
            "Start the race", type="primary", key="time_start", on_click=timing_setup.begin,
            args=("race", entry),
        )  # fmt: skip
    if study is not None and (running or refused is None or _same(study.entry, entry)):
        follow(study, lambda: _results(desk, study))
        return False
    if refused is not None and entry.variants and entry.where.runner != timing_setup.REMOTE:
        return _bounds(desk, entry)
    return False


def _same(one: Entry, other: Entry) -> bool:
    return (one.target, one.sizes) == (other.target, other.sizes)


def _bounds(desk: Desk, entry: Entry) -> bool:
    """Why nothing is timed and what a roofline says instead; True while it is worked out."""
    plain = msgspec.structs.replace(entry, method=type(entry.method)())
    answer = state.background().ask(bounds, plain, wait_s=BOUND_WAIT_S)
    if answer.pending:
        say.note("The roofline bound is being worked out…")
    if answer.problem is not None:
        say.problem(answer.problem)
    if answer.value is not None:
        for heat in answer.value.heats:
            st.html(times.heat_html(heat))
        say.note(
            "The bound is the least time that the work can take at the GPU's peak rates, from the "
            "data sheet. It is not a time: kernels are slower, often by far."
        )
        timing_charts.bound(desk, answer.value)
    return answer.pending or any(ask.analysed(desk, v.name).pending for v in entry.variants)


def _progress(study: Study) -> None:
    if not study.active:
        if study.cancelled:
            say.note("Cancelled. What was known by then:" if study.latest else "Cancelled.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Cancel", key=f"time_cancel_{study.kind}", on_click=study.cancel)
        st.html(f'<p class="why" role="status">{_so_far(study)}</p>')


def _so_far(study: Study) -> str:
    latest, budget = study.latest, study.entry.method.budget_s
    if isinstance(latest, Sweep):
        return f"{len(latest.points)} of {len(study.entry.values)} sizes are timed."
    if isinstance(latest, Ablation):
        steps = len(study.entry.variants[0].steps)
        return f"Figures of the compiler without each step: {len(latest.steps)} of {steps}."
    if latest is None:
        return "Building the variants and the reference, waiting for the device…"
    rounds = max((row.rounds for heat in latest.heats for row in heat.rows), default=0)
    return f"Racing: {rounds} rounds so far, at most {budget:g} s each function and device."


def _results(desk: Desk, study: Study) -> None:
    """Verdicts, tables and charts of a race, as far as it has come."""
    if study.problem is not None:
        say.problem(study.problem)
        return
    race = study.answer if isinstance(study.answer, Race) else study.latest
    if not isinstance(race, Race):
        return
    if race.warning:
        say.note(race.warning)
    if not _same(study.entry, _now(desk, study.entry)):
        say.alert("These times are of another target or other sizes than now.", "calm")
    for heat in race.heats:
        _heat(heat, changed(desk, study.entry))
    if not study.active and any(row.samples_us for heat in race.heats for row in heat.rows):
        timing_charts.race(desk, race)


def _now(desk: Desk, entry: Entry) -> Entry:
    return msgspec.structs.replace(
        entry, target=desk.experiment.target, sizes=desk.experiment.sizes
    )


def changed(desk: Desk, entry: Entry) -> frozenset[str]:
    """The variants of a race whose steps are others by now, or that are gone."""
    return frozenset(
        raced.name
        for raced in entry.variants
        if (now := desk.experiment.variant(raced.name)) is None or now.steps != raced.steps
    )


def _heat(heat: Heat, changed: frozenset[str]) -> None:
    sentences = times.conclusion(heat)
    if heat.lost:
        say.alert(heat.lost, "warn")
    say.verdicts(*sentences[:SENTENCES])
    st.html(times.heat_html(heat, changed))
    for why in heat.no_baseline:
        say.note(why)
    if len(sentences) > SENTENCES:
        with st.expander(f"{len(sentences) - SENTENCES} more verdicts"):
            say.verdicts(*sentences[SENTENCES:])
