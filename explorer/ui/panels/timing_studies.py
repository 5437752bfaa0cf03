"""Studies of several races: the variants over a size; the steps of the current variant."""

from __future__ import annotations

import html
from collections.abc import Callable

import msgspec
import streamlit as st

from explorer.errors import Refusal, SizeError, UserError
from explorer.experiment import Variant
from explorer.model.race import Heat, Race
from explorer.model.studies import Ablation, History, Static, Sweep, SweepPoint
from explorer.studies import whole_reason
from explorer.ui import say, state, times
from explorer.ui.desk import Desk
from explorer.ui.panels import timing_charts, timing_plots, timing_setup
from explorer.ui.races import Entry, Kind, Study
from explorer.ui.words import table_html

Follow = Callable[[Study, Callable[[], None]], None]
MOST_VALUES = 12
LARGEST = 1 << 20


def sizes(desk: Desk, entry: Entry, refused: Refusal | None, follow: Follow) -> None:
    """The picked variants at several values of a size."""
    options = size_names(desk)
    if not options:
        say.note("The module has no size that could be changed.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Size", options, key="time_size", width=180, persist_state="session",
            format_func=lambda text: f"every {text}" if text.isdigit() else text,
            help="A symbolic size, or a number: it is replaced wherever it stands in the text.",
        ) or options[0]  # fmt: skip
        text = st.text_input(
            "Values", default_values(name, entry.sizes), key=f"time_values_{name}", width=320,
            persist_state="session",
        )  # fmt: skip
        try:
            values = read_values(text or "")
        except UserError as error:
            st.button("Race at each size", disabled=True, key="time_start_sweep")
            say.note(str(error))
            values = ()
        else:
            wanted = msgspec.structs.replace(entry, size=name, values=values)
            _start("Race at each size", "sweep", wanted, refused)
    study = _last(desk, "sweep")
    if study is not None:
        follow(study, lambda: _sweep(study))


def steps(desk: Desk, entry: Entry, refused: Refusal | None, follow: Follow) -> None:
    """What each step of the current variant changed, and what it is worth."""
    current = desk.current
    if not current.steps:
        say.note("The current variant has no steps. Pick one above the graph that has.")
        return
    alone = msgspec.structs.replace(entry, variants=(Variant(current.name, current.steps),))
    with st.container(horizontal=True, vertical_alignment="center"):
        _start("Time after every step", "history", alone, refused)
        # Without a device the ablation has static figures, so it is always offered.
        _start("What is each step worth?", "ablation", alone, None)
        say.note(f"{current.name}, {len(current.steps)} steps")
    for kind in ("history", "ablation"):
        study = _last(desk, kind)
        if study is not None:
            if study.entry.variants != alone.variants:
                say.note(f"Of {study.entry.variants[0].name}, as it was then:")
            follow(study, lambda study=study: _steps(study))  # type: ignore[misc]


def size_names(desk: Desk) -> list[str]:
    """Symbolic sizes, then numbers in shapes of parameters, largest first."""
    shapes = {
        part
        for function in desk.loaded.nest.functions
        for buffer in function.buffers
        if buffer.param
        for part in buffer.shape
        if part.isdigit() and int(part) > 1
    }
    return [*desk.loaded.symbols, *sorted(shapes, key=int, reverse=True)]


def default_values(name: str, known: dict[str, int]) -> str:
    """A quarter to the double of the size as it is."""
    now = int(name) if name.isdigit() else known.get(name, 1024)
    values = dict.fromkeys(max(now * up // 4, 1) for up in (1, 2, 3, 4, 6, 8))
    return ", ".join(str(value) for value in values)


def read_values(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between.  Raises SizeError."""
    parts = [part for part in text.replace(",", " ").split() if part]
    if not parts or not all(part.isdecimal() and 0 < int(part) <= LARGEST for part in parts):
        raise SizeError(
            "The values are not sizes.", f"They are whole numbers from 1 to {LARGEST}.",
            "Write for example 256, 512, 1024.",
        )  # fmt: skip
    values = tuple(dict.fromkeys(int(part) for part in parts))
    if len(values) > MOST_VALUES:
        raise SizeError(f"These are {len(values)} sizes.", f"At most {MOST_VALUES} are raced.")
    return values


def _start(label: str, kind: Kind, entry: Entry, refused: Refusal | None) -> None:
    study = state.races().of(state.tab_id(), kind)
    busy = study is not None and study.active
    st.button(
        label, key=f"time_start_{kind}", disabled=busy or refused is not None,
        help=say.plain(refused.sentence()) if refused is not None else None,
        on_click=timing_setup.begin, args=(kind, entry),
    )  # fmt: skip


def _last(desk: Desk, kind: Kind) -> Study | None:
    study = state.races().of(state.tab_id(), kind)
    return study if study is not None and study.entry.source == desk.source else None


def _sweep(study: Study) -> None:
    if study.problem is not None:
        say.problem(study.problem)
        return
    found = study.answer or study.latest
    if not isinstance(found, Sweep) or not found.points:
        return
    names = _names(found)
    if any(row.samples_us for p in found.points for h in p.race.heats for row in h.rows):
        timing_charts.draw(
            timing_plots.sweep(found, names), "sizes", "Time over size", times.sweep_csv(found),
            "sizes.csv",
        )  # fmt: skip
    elif not study.active:
        timing_charts.save(times.sweep_csv(found), "sizes.csv")
    st.html(sweep_html(found))


def _names(found: Sweep) -> list[str]:
    """Variants, then libraries, in the order of their rows."""
    rows = [row for p in found.points for heat in p.race.heats for row in heat.rows]
    rows.sort(key=lambda row: bool(row.library))
    return list(dict.fromkeys(row.variant for row in rows))


def sweep_html(found: Sweep) -> str:
    """Who wins at each size, and where a tile leaves something over."""
    rows = [
        [str(point.value), html.escape(_who(point)),
         "<br>".join(html.escape(f"{row.variant} {times.span(row) or times.on_page(row.reason)}")
                     for heat in point.race.heats for row in heat.rows),
         "<br>".join(html.escape(f"{name}: {'; '.join(said)}")
                     for name, said in point.remainders.items())]
        for point in found.points
    ]  # fmt: skip
    heat = next((heat for point in found.points for heat in point.race.heats), None)
    title = times.size_title(found.name)
    return times.placed_html(
        [title, "Fastest", "Medians, 95 % interval", "Does not divide"], rows, heat
    )


def _who(point: SweepPoint) -> str:
    heat = next(iter(point.race.heats), None)
    if heat is None:
        return ""
    if heat.winner:
        return heat.winner
    timed = [row for row in heat.rows if row.status == "measured" and not row.library]
    if len(timed) > 1:
        return "no winner: noise could turn it"
    return "only one variant was timed" if timed else "nothing was timed"


def _steps(study: Study) -> None:
    answer = study.answer
    if study.problem is not None:
        say.problem(study.problem)
    elif isinstance(answer, History):
        data = times.history_csv(answer)
        if any(each.median_us is not None for each in answer.steps):
            timing_charts.draw(
                timing_plots.history(answer), "history", "Time after each step", data, "history.csv"
            )
        else:
            timing_charts.save(data, "history.csv")
        st.html(history_html(answer))
    elif isinstance(answer, Ablation):
        data = times.ablation_csv(answer)
        if any(each.worth is not None for each in answer.steps):
            timing_charts.draw(
                timing_plots.ablation(answer), "ablation", "What each step is worth", data,
                "ablation.csv",
            )  # fmt: skip
        else:
            timing_charts.save(data, "ablation.csv")
        st.html(ablation_html(answer))
        if answer.shortest is not None and answer.kept is not None:
            say.verdicts(shortest(answer))
    elif isinstance(study.latest, Ablation):
        st.html(ablation_html(study.latest))
    elif isinstance(study.latest, Race) and study.active:
        for heat in study.latest.heats:
            st.html(times.heat_html(heat))


def shortest(found: Ablation) -> str:
    """The shortest recipe in a sentence."""
    assert found.shortest is not None
    assert found.kept is not None
    if len(found.shortest) == len(found.steps):
        return "No step can be left out without losing more than 5 % of the speed."
    kept = ", ".join(str(at + 1) for at in found.shortest) or "none at all"
    return f"Steps {kept} alone keep {found.kept:.0%} of the speed."


def history_html(found: History) -> str:
    """Every step with its median and what it changed."""
    rows = []
    for each in found.steps:
        timed = each.median_us is not None
        low, high = each.low_us, each.high_us
        span = f" ({times.micros(low)} to {times.micros(high)})" if low and high else ""
        rows.append(
            [str(each.step), f"<code>{html.escape(each.line or 'as it came')}</code>",
             html.escape(times.micros(each.median_us or 0) + span if timed
                         else times.on_page(each.reason)),
             html.escape(each.change.words if each.change else "")]
        )  # fmt: skip
    head = ["Step", "", "Median, 95 % interval", "Against the step before"]
    return times.placed_html(head, rows, _heat(found.race))


def ablation_html(found: Ablation) -> str:
    """Every step with what it is worth, or the static figures without it."""
    static = found.static is not None
    head, rows = ["Step left out", "", "With it go"], []
    if found.static is not None:
        rows.append(["none", "the whole recipe", "", *_figures(found.static), ""])
    for each in found.steps:
        also = ", ".join(str(at + 1) for at in each.also)
        cells = [str(each.step + 1), f"<code>{html.escape(each.line)}</code>", also]
        reason = html.escape(times.on_page(each.reason))
        if static:
            cells += _figures(each.static) if each.static is not None else [""] * 5
            cells.append("" if each.static is not None else reason)
        else:
            words = f"whole recipe: {each.verdict.words}" if each.verdict else ""
            cells.append(html.escape(words) or reason)
        rows.append(cells)
    if not static:
        return times.placed_html([*head, "Worth"], rows, _heat(found.race))
    head += ["Registers", "Shared bytes", "Instructions", "Occupancy, at most", "Bound", ""]
    reason = times.on_page(whole_reason(found.race))
    return table_html(head, rows, f"Not timed, figures of the compiler. {reason}".strip())


def _figures(found: Static) -> list[str]:
    """What is known of a recipe without running it."""
    occupancy = "" if found.occupancy is None else f"{found.occupancy:.0%}"
    bound = "" if found.bound_us is None else f"≥ {times.micros(found.bound_us)}"
    return [
        str(found.registers), str(found.shared_bytes), str(found.instructions), occupancy, bound,
    ]  # fmt: skip


def _heat(race: Race) -> Heat | None:
    return next(iter(race.heats), None)
