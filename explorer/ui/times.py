"""Times in words, tables and CSV: a number never comes without the method it was got by."""

from __future__ import annotations

import csv
import html
import io

from explorer.model.options import REMOTE
from explorer.model.race import Heat, Provenance, Race, Roof, Row, Verdict
from explorer.model.studies import Ablation, History, Sweep
from explorer.studies import reverse
from explorer.ui.words import CHECKS, Badge, badge_html, table_html

SHARE, BOUND = "Of the bound", "Bound, not a time"
HEAD = [
    "Variant", "Median, 95 % interval", "Spread", "Runs", "GFLOP/s", "GB/s", SHARE, "Check", BOUND,
]  # fmt: skip


def micros(us: float) -> str:
    """A time with four digits, e.g. "12.34 µs" or "3.456 ms"."""
    value, unit = (us, "µs") if us < 10_000 else (us / 1000, "ms")
    if unit == "ms" and value >= 10_000:
        value, unit = value / 1000, "s"
    return f"{value:#.4g}".rstrip(".") + f" {unit}"


def span(row: Row) -> str:
    """A median with its interval, e.g. "12.34 µs (12.30 µs to 12.40 µs)"; "" without one."""
    if row.median_us is None:
        return ""
    if row.low_us is None or row.high_us is None:
        return micros(row.median_us)
    return f"{micros(row.median_us)} ({micros(row.low_us)} to {micros(row.high_us)})"


def on_page(text: str) -> str:
    """A sentence that asks for a remote GPU, with where the page takes its address."""
    return text.replace(REMOTE, f'{REMOTE} ("Use a remote GPU…" opens its form)')


def provenance(place: Provenance, library: str = "") -> str:
    """What a number has to be read with, a line for each thing."""
    sizes = ", ".join(f"{name} = {value}" for name, value in place.sizes.items())
    facts = [
        ("library", library), ("device", place.device), ("driver", place.driver),
        ("runner", place.runner), ("target", place.target), ("sizes", sizes), ("TVM", place.tvm),
        ("method", place.method), ("date", place.date), ("note", "; ".join(place.notes)),
    ]  # fmt: skip
    return "\n".join(f"{name}: {value}" for name, value in facts if value)


def size_title(name: str) -> str:
    """A symbolic size, or a number of the text and that it was replaced."""
    return f"{name} replaced by" if name.isdigit() else name


def heat_title(heat: Heat) -> str:
    """Function and device."""
    return f"{heat.function} on {heat.place.device}" if heat.place.device else heat.function


def verdict_sentence(verdict: Verdict) -> str:
    """A verdict as a sentence that names the faster one first."""
    if verdict.outcome == "slower":
        verdict = reverse(verdict)
    if verdict.outcome == "faster":
        return f"{verdict.variant} is {verdict.words} than {verdict.other}."
    return f"{verdict.variant} and {verdict.other}: {verdict.words}."


def conclusion(heat: Heat) -> tuple[str, ...]:
    """Every verdict as a sentence, those that the fastest variant is part of first."""
    medians = [(row.median_us, row.variant) for row in heat.rows if row.median_us is not None]
    best = heat.winner or min(medians, default=(0.0, ""))[1]
    order = sorted(heat.verdicts, key=lambda each: best not in (each.variant, each.other))
    return tuple(verdict_sentence(each) for each in order)


def heat_html(heat: Heat, changed: frozenset[str] = frozenset()) -> str:
    """The table of a heat; variants of `changed` have other steps by now."""
    rows = [_cells(row, heat, row.variant in changed) for row in heat.rows]
    timed = any(row.status == "measured" for row in heat.rows)
    bound = any(row.bound_us is not None for row in heat.rows)
    share = any(row.bound_share is not None for row in heat.rows)
    kept = [
        at for at, name in enumerate(HEAD)
        if (timed or at < 2 or name == BOUND) and (bound or name != BOUND)
        and (share or name != SHARE)
    ]  # fmt: skip
    head = [HEAD[at] for at in kept]
    if not timed:
        head[1] = "Time"
    return placed_html(head, [[cells[at] for at in kept] for cells in rows], heat)


def placed_html(head: list[str], rows: list[list[str]], heat: Heat | None) -> str:
    """A table with where its figures are from, and how they were got folded away."""
    if heat is None:
        return table_html(head, rows, "No function is timed.")
    shown = table_html(head, rows, caption(heat))
    how = [text for text in (heat.place.method, heat.roof and bound_words(heat.roof)) if text]
    if not how:
        return shown
    lines = "".join(f"<div>{html.escape(text)}</div>" for text in how)
    folded = f"<details><summary>How it was timed</summary>{lines}</details></caption>"
    return shown.replace("</caption>", folded, 1)


def bound_words(roof: Roof) -> str:
    """What the bounds of a race are made of, and how far they can be trusted."""
    words = f"Bound by {roof.holds}; {roof.source}."
    if roof.measured:
        words += (
            " A measured peak is no hard limit: a figure is rejected only when it is more than "
            f"{roof.tolerance:g} times faster."
        )
    return words


def caption(heat: Heat) -> str:
    """Where the figures of a table are from, and what disturbed them."""
    place = heat.place
    parts = [heat_title(heat), f"target {place.target}"]
    parts += [", ".join(f"{name} = {value}" for name, value in place.sizes.items())]
    parts += ["" if heat.final else "still running", *place.notes]
    return " · ".join(part for part in parts if part)


def _cells(row: Row, heat: Heat, changed: bool) -> list[str]:
    name = html.escape(row.variant)
    if row.library:
        name += " " + badge_html(Badge("library", "calm", row.library))
    if row.variant == heat.winner and heat.final:
        name += " " + badge_html(Badge("fastest", "good", "Faster than each other variant."))
    if changed:
        name += " " + badge_html(Badge("changed since", "warn", "Its steps are others by now."))
    bound = "" if row.bound_us is None else f"≥ {micros(row.bound_us)}"
    if row.status != "measured":
        why = f'<div class="why">{html.escape(on_page(row.reason))}</div>'
        time = badge_html(Badge("not measured", "calm")) + why
        return [name, time, *[""] * 6, bound]
    text, tone = CHECKS[row.check.status]
    place = html.escape(provenance(heat.place, row.library))
    return [
        name, f'<span title="{place}">{html.escape(span(row))}</span>',
        "" if row.spread is None else f"{row.spread:.1%}", _runs(row),
        _rate(row.gflops), _rate(row.gbs),
        "" if row.bound_share is None else _share(row.bound_share),
        badge_html(Badge(text, tone, row.check.detail)), bound,
    ]  # fmt: skip


def _runs(row: Row) -> str:
    aside = f", {row.set_aside} rounds set aside" if row.set_aside else ""
    return html.escape(f"{row.runs} in {row.rounds} rounds{aside}")


def _share(value: float) -> str:
    return f"{value:.0%}" if value >= 0.1 else f"{100 * value:.2g}%"


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def race_csv(race: Race) -> str:
    """Every row of a race with all it has to be read with."""
    return table_csv([_record(heat, row) for heat in race.heats for row in heat.rows])


def bounds_csv(heat: Heat) -> str:
    """The bound of every variant that has one."""
    return table_csv(
        [
            {"function": heat.function, "variant": row.variant, "bound_us": row.bound_us,
             **_place(heat.place)}
            for row in heat.rows if row.bound_us
        ]
    )  # fmt: skip


def samples_csv(heat: Heat, variant: str) -> str:
    """The rounds of one variant."""
    row = heat.row(variant)
    samples = row.samples_us if row is not None else ()
    return table_csv(
        [
            {"variant": variant, "round": at, "us": value, **_place(heat.place)}
            for at, value in enumerate(samples)
        ]
    )


def sweep_csv(sweep: Sweep) -> str:
    """Every size, variant and device."""
    return table_csv(
        [
            {"size": sweep.name, "value": point.value, **_record(heat, row),
             "left_over": "; ".join(point.remainders.get(row.variant, ()))}
            for point in sweep.points for heat in point.race.heats for row in heat.rows
        ]
    )  # fmt: skip


def history_csv(history: History) -> str:
    """Every step with its time and what it changed."""
    place = _place(history.race.heats[0].place) if history.race.heats else {}
    return table_csv(
        [
            {"step": each.step, "line": each.line, "median_us": each.median_us,
             "low_us": each.low_us, "high_us": each.high_us, "reason": on_page(each.reason),
             "change": each.change.words if each.change else "", **place}
            for each in history.steps
        ]
    )  # fmt: skip


def ablation_csv(ablation: Ablation) -> str:
    """Every step with what it is worth, or the static figures without it."""
    place = _place(ablation.race.heats[0].place) if ablation.race.heats else {}
    return table_csv(
        [
            {"step": each.step + 1, "line": each.line, "worth": each.worth,
             "low": each.verdict.low if each.verdict else None,
             "high": each.verdict.high if each.verdict else None,
             "reason": on_page(each.reason),
             "registers_without": each.static.registers if each.static else None,
             "bound_us_without": each.static.bound_us if each.static else None, **place}
            for each in ablation.steps
        ]
    )  # fmt: skip


def table_csv(records: list[dict[str, object]]) -> str:
    """Records as CSV with a head; a spreadsheet takes no cell for a formula."""
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _safe(value) for name, value in each.items()} for each in records)
    return out.getvalue()


def _safe(value: object) -> object:
    text = isinstance(value, str) and value.startswith(("=", "+", "-", "@"))
    return f"'{value}" if text else value


def _record(heat: Heat, row: Row) -> dict[str, object]:
    return {
        "function": heat.function, "variant": row.variant, "library": row.library,
        "status": row.status, "reason": on_page(row.reason), "median_us": row.median_us,
        "low_us": row.low_us,
        "high_us": row.high_us, "spread": row.spread, "runs": row.runs, "rounds": row.rounds,
        "gflops": row.gflops, "gbs": row.gbs, "bound_us": row.bound_us,
        "bound_share": row.bound_share, "bound_from": heat.roof.source if heat.roof else "",
        "check": row.check.status, **_place(heat.place),
    }  # fmt: skip


def _place(place: Provenance) -> dict[str, object]:
    return {
        "device": place.device, "driver": place.driver, "runner": place.runner,
        "target": place.target, "tvm": place.tvm,
        "sizes": " ".join(f"{name}={value}" for name, value in place.sizes.items()),
        "method": place.method, "date": place.date, "notes": "; ".join(place.notes),
    }  # fmt: skip
