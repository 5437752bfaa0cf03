"""Steering a search: decisions pinned, regions banned, rules left out or added; then it goes on.

What is not told yet is a draft of this tab; "Go on with this" tells it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import streamlit as st

from explorer import workbench
from explorer.errors import UserError
from explorer.tuning import rules
from explorer.tuning.events import Candidate
from explorer.tuning.job import Ban, Pin, Steering
from explorer.ui import say, state, tunes
from explorer.ui import tunes_words as words
from explorer.ui.components.picktable import Row, picktable
from explorer.ui.desk import Desk
from explorer.ui.tunes import Watch
from explorer.ui.tunes_words import Choice

TABLE_HEIGHT = 260


def draft(watch: Watch) -> Steering:
    """What this tab wants to steer by; what the job has until anything was changed."""
    found = st.session_state.get(f"tune_draft_{watch.path}")
    return found if isinstance(found, Steering) else watch.steering


def change(watch: Watch, steering: Steering) -> None:
    """In a callback: keep another draft, and draw the tab."""
    st.session_state[f"tune_draft_{watch.path}"] = steering
    tunes.redraw()


def pinned(steering: Steering, pin: Pin) -> Steering:
    """With a pin, in place of another one of the same decision."""
    others = [each for each in steering.pins if _place(each) != _place(pin)]
    return msgspec.structs.replace(steering, pins=(*others, pin))


def banned(steering: Steering, ban: Ban) -> Steering:
    """With a ban, unless it is there."""
    if ban in steering.bans:
        return steering
    return msgspec.structs.replace(steering, bans=(*steering.bans, ban))


def without_lines(steering: Steering, kept: Iterable[int]) -> Steering:
    """Only the pins and bans of these places, counted over both."""
    keep = set(kept)
    count = len(steering.pins)
    return msgspec.structs.replace(
        steering,
        pins=tuple(pin for at, pin in enumerate(steering.pins) if at in keep),
        bans=tuple(ban for at, ban in enumerate(steering.bans, count) if at in keep),
    )


def with_rules(steering: Steering, chosen: Iterable[str], usual: tuple[str, ...]) -> Steering:
    """With just these rules, told as what is left out of the usual ones and what is added."""
    chosen = tuple(chosen)
    return msgspec.structs.replace(
        steering,
        without_rules=tuple(name for name in usual if name not in chosen),
        with_rules=tuple(name for name in chosen if name not in usual),
    )


def decisions(watch: Watch, candidate: Candidate) -> None:
    """A candidate's decisions in words; the picked one can be pinned or banned."""
    design = watch.summary.designs.get((candidate.function, candidate.design))
    found = words.choices(candidate, design)
    if not found:
        say.note("No decisions are known for it, so there is none to pin or to ban.")
        return
    key = f"tune_decision_{watch.path}_{candidate.id}"

    def chosen() -> None:
        fired = state.fired("tune_decisions", "pick")
        if fired:
            st.session_state[key] = int(fired["id"])

    at = st.session_state.get(key, found[0].at)
    picktable(
        [Row(str(each.at), (each.what, each.text)) for each in found], key="tune_decisions",
        label="Decisions", on_pick=chosen, head=("Decision", "Value"), selected=str(at),
        height=TABLE_HEIGHT, group=key,
    )  # fmt: skip
    choice = next((each for each in found if each.at == at), found[0])
    _choice(watch, candidate, choice)


def _choice(watch: Watch, candidate: Candidate, choice: Choice) -> None:
    """Pin or ban one decision, or the whole design."""
    place = (candidate.function, candidate.design, choice.at)
    st.html(f'<p class="why">{say.inline(choice.what)}: {say.inline(choice.text)}</p>')
    part, low, high = _region(choice, f"{place}")
    design = Ban(candidate.function, candidate.design)
    with st.container(horizontal=True, gap="xsmall"):
        st.button(
            "Pin the value", key="tune_pin", on_click=_pin, args=(watch, Pin(*place, choice.value)),
            help="All further candidates of this design take it.",
        )  # fmt: skip
        st.button(
            "Ban the region", key="tune_ban", on_click=_ban_region,
            args=(watch, Ban(*place, part=part), low, high),
            help="No further candidate of this design lies in it.",
        )  # fmt: skip
        st.button(
            "Ban the design", key="tune_ban_design", on_click=_ban, args=(watch, design),
            help=f"Design {candidate.design}: none of its candidates any more.",
        )  # fmt: skip


def _region(choice: Choice, key: str) -> tuple[int | None, str, str]:
    """The region to ban: which factor (None: the value itself), and the fields of its ends."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom"):
        part: int | None = None
        value = choice.value
        if isinstance(value, tuple):
            part = st.selectbox(
                "Factor", range(len(value)), format_func=lambda at: f"{at + 1}", width=74,
                key=f"tune_part_{key}_{len(value)}",
            ) or 0  # fmt: skip
            value = value[part]
        fields = [f"tune_{end}_{key}_{part}_{value}" for end in ("from", "to")]
        for title, field in zip(("From", "to"), fields, strict=True):
            if choice.candidates:
                st.selectbox(
                    title, range(len(choice.candidates)), index=max(value, 0), key=field, width=84,
                    format_func=lambda at: str(choice.candidates[at]),
                )  # fmt: skip
            else:
                st.number_input(title, value=value, step=1, key=field, width=84)
    return part, fields[0], fields[1]


def _pin(watch: Watch, pin: Pin) -> None:
    change(watch, pinned(draft(watch), pin))


def _ban(watch: Watch, ban: Ban) -> None:
    change(watch, banned(draft(watch), ban))


def _ban_region(watch: Watch, ban: Ban, low: str, high: str) -> None:
    """Ban between what the two fields hold, either way round."""
    ends = sorted(int(st.session_state.get(field) or 0) for field in (low, high))
    _ban(watch, msgspec.structs.replace(ban, low=ends[0], high=ends[1]))


def draw(desk: Desk, watch: Watch) -> None:
    """What steers the search, what this tab would change, and what happened so far."""
    steering, told = draft(watch), watch.steering
    changed = steering != told
    title = "Steer the search"
    with st.expander(f"{title} (not told yet)" if changed else title, expanded=changed,
                     key=f"tune_steer_{changed}"):  # fmt: skip
        if not (steering.pins or steering.bans):
            say.note(
                "Pick a candidate above and pin or ban one of its decisions; what you collect "
                "stands here until you go on with it."
            )
        _lines(watch, steering)
        _rules(watch, steering)
        _seeds(desk, watch, steering)
        _go(watch, steering, changed)
    with st.expander("What happened so far", key="tune_history", on_change="rerun") as history:
        if history.open:
            st.html(words.history_html(watch.summary))


def _lines(watch: Watch, steering: Steering) -> None:
    """Pins and bans as tags that can be taken away."""
    of = watch.summary.designs
    lines = [words.pin_words(pin, of.get((pin.function, pin.design))) for pin in steering.pins]
    lines += [words.ban_words(ban, of.get((ban.function, ban.design))) for ban in steering.bans]
    if not lines:
        return
    key = f"tune_lines_{len(lines)}_{abs(hash(tuple(lines)))}"

    def change_lines() -> None:
        change(watch, without_lines(steering, st.session_state[key]))

    st.multiselect(
        "Pinned and banned", range(len(lines)), default=range(len(lines)), key=key,
        format_func=lambda at: lines[at], on_change=change_lines,
    )  # fmt: skip


def _rules(watch: Watch, steering: Steering) -> None:
    try:
        target = workbench.target(watch.job.target)
    except UserError as error:
        say.note(str(error))
        return
    usual = rules.usual(target)
    options = list(dict.fromkeys([*usual, *rules.extra(target), *steering.with_rules]))
    on = [name for name in usual if name not in steering.without_rules] + list(steering.with_rules)
    key = f"tune_rules_{abs(hash(tuple(on)))}"

    def change_rules() -> None:
        change(watch, with_rules(steering, st.session_state[key], usual))

    st.multiselect(
        "Schedule rules", options, default=on, key=key, on_change=change_rules,
        help="Rules that make the designs. Another choice makes other designs.",
    )  # fmt: skip


def _seeds(desk: Desk, watch: Watch, steering: Steering) -> None:
    if desk.source != watch.job.source:
        return
    mine = {v.name: v.steps for v in desk.experiment.variants if v.steps}
    on = list(dict.fromkeys(name for name, _, _ in steering.seeds))
    options = list(dict.fromkeys([*on, *mine]))
    if not options:
        return
    key = f"tune_firsts_{len(options)}_{abs(hash(tuple(on)))}"

    def change_seeds() -> None:
        chosen = st.session_state[key]
        kept = tuple(seed for seed in steering.seeds if seed[0] in chosen)
        new = tuple(
            (name, function, mine[name])
            for name in chosen if name not in on
            for function in watch.functions
        )  # fmt: skip
        change(watch, msgspec.structs.replace(steering, seeds=kept + new))

    st.multiselect(
        "Try their decisions first", options, default=on, key=key, on_change=change_seeds,
        help="A variant's own tile sizes and choices, put into the search as candidates.",
    )  # fmt: skip


def _go(watch: Watch, steering: Steering, changed: bool) -> None:
    with st.container(horizontal=True):
        st.button(
            "Go on with this", key="tune_go", type="primary", disabled=not changed,
            on_click=_tell, args=(watch, steering),
        )  # fmt: skip
        if changed:
            st.button("Forget the changes", key="tune_forget", on_click=_forget, args=(watch,))


def _tell(watch: Watch, steering: Steering) -> None:
    _forget(watch)
    tunes.go_on(watch, steering=steering)


def _forget(watch: Watch) -> None:
    st.session_state.pop(f"tune_draft_{watch.path}", None)


def _place(pin: Pin) -> tuple[str, int, int]:
    return pin.function, pin.design, pin.at
