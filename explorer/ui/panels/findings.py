"""What is wrong or slow: one sentence with one-click cures on top, and the full list below."""

from __future__ import annotations

import html
from textwrap import shorten

import streamlit as st

from explorer import bind_doctor
from explorer.cures import offered
from explorer.findings import CHECKS
from explorer.model.diagnosis import TriedCure
from explorer.model.nest import Loop, Nest
from explorer.model.result import Build, Finding
from explorer.ui import ask, moves, say, state
from explorer.ui import desk as desks
from explorer.ui.desk import Desk
from explorer.ui.words import Badge, Tone, badge_html, check_badge, table_html

TONES: dict[str, Tone] = {"error": "bad", "warning": "warn", "info": "calm"}
SHOWN_CURES = 4
SHOWN_PLACES = 12
REASON_CHARS = 160
HEADLINES = {"no_kernel": "No kernel", "partly_on_host": "Partly on the host"}


def errors(build: Build | None) -> list[Finding]:
    """The findings that make a build wrong."""
    return [f for f in build.findings if f.severity == "error"] if build is not None else []


def lit(build: Build | None, nest: Nest) -> tuple[str, ...]:
    """The nodes that need attention; with an unbound loop the unbound loops below it."""
    found: dict[str, None] = {}
    for finding in errors(build):
        function = nest.function(finding.function)
        if function is None or not finding.node:
            continue
        found[finding.node] = None
        if finding.code in HEADLINES:
            found |= {
                node.id: None
                for node in function.nodes
                if isinstance(node, Loop) and node.id.startswith(finding.node + "/")
                and node.mode != "bound" and not node.inside_block
            }  # fmt: skip
    return tuple(found)


def cures(found: list[Finding]) -> list[str]:
    """Every one-click cure once, in the findings' order; one for all that is to be bound."""
    listed = [cure for f in found for cure in (f.cures or ((f.cure_id,) if f.cure_id else ()))]
    return list(offered(listed))


def shown_cures(build: Build | None) -> list[str]:
    """The cures that are tried and offered above the workbench."""
    return cures(errors(build))[:SHOWN_CURES]


def cure_label(cure_id: str) -> str:
    """A cure as the label of its button."""
    kind, _, what = cure_id.partition(":")
    if kind == "strategy":
        return f"Use {moves.STRATEGIES.get(what, what)}"
    return bind_doctor.label(cure_id)


def callout(desk: Desk, build: Build) -> bool:
    """The first error as a plain sentence, with its cures; nothing when all is well.

    True while cures are being tried.
    """
    found = errors(build)
    if not found:
        if build.status in ("failed", "refused"):
            say.alert(build.reason)
            say.details(build.details)
        return False
    first = found[0]
    more = f" And {len(found) - 1} more below." if len(found) > 1 else ""
    badge = badge_html(Badge(HEADLINES.get(first.code, "Error"), "bad"))
    waits = False
    with st.container(border=True, key="callout", gap="small"):
        st.html(f'<div class="callout">{badge} {html.escape(first.message)}{more}</div>')
        with st.container(horizontal=True, vertical_alignment="top", gap="small", key="cures"):
            for n, cure_id in enumerate(shown_cures(build)):
                waits = _cure(desk, cure_id, first=n == 0) or waits
    return waits


def _cure(desk: Desk, cure_id: str, *, first: bool) -> bool:
    """A cure's button, with what became of it when it was tried; True while it is."""
    answer = ask.tried(desk, cure_id)
    cure, problem = answer.value, answer.problem
    failed = cure is not None and not cure.offered
    with st.container(width="content", gap=None):
        st.button(
            say.plain(cure_label(cure_id)), key=f"cure_{cure_id}",
            type="primary" if first else "secondary", disabled=failed,
            on_click=state.do, args=(moves.cure, cure_id),
        )  # fmt: skip
        if problem is not None:
            say.note(say.sentence(problem))
        else:
            st.html(f'<p class="why tried">{tried_html(cure)}</p>')
    return answer.pending


def tried_html(cure: TriedCure | None) -> str:
    """What became of a cure: launches and verdict, or why it fails."""
    if cure is None:
        return "being tried…"
    if not cure.offered:
        return f"{badge_html(Badge('no', 'bad', cure.reason))} {_brief(cure.reason)}"
    parts = list(dict.fromkeys(each.words() for each in cure.launches))
    more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
    left = "" if cure.outcome == "works" else f"<br>{_brief(cure.reason)}"
    shown = html.escape(parts[0] if parts else "") + more
    return f"{shown} · {badge_html(check_badge(cure.check))}{left}"


def _brief(reason: str) -> str:
    return html.escape(shorten(reason, REASON_CHARS, placeholder="…"))


def draw(desk: Desk, result: ask.Result) -> bool:
    """All findings of the current variant, as far as they are known; True while more may come."""
    build = result.build
    if build is None:
        failed = result.problem is not None
        say.note("There is no build to look at." if failed else "The findings come with the build.")
    elif result.waiting:
        say.note("Being checked: more may come.")
    elif not build.findings:
        say.note("The static checks found nothing to say about this variant.")
    if build is not None and build.findings:
        _table(desk, build)
    return bool(result.waiting)


def _table(desk: Desk, build: Build) -> None:
    """One row for what is the same in several places, and a way to each place in the graph."""
    rows = [
        [
            badge_html(Badge(first.severity, TONES[first.severity])),
            _check_html(first.code),
            _places_html(same),
            html.escape(first.message),
            html.escape(first.cure),
        ]
        for same in grouped(build.findings)
        for first in same[:1]
    ]
    head = ["", "Check", "Where", "What", "What to try"]
    st.html(table_html(head, rows, f"{desk.variant}: static checks"))
    places = {f.node: f.where or f.node for f in build.findings if f.node}
    if places:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            st.html('<span class="group">Show in the graph:</span>', width="content")
            for node, where in list(places.items())[:SHOWN_PLACES]:
                st.button(
                    say.plain(shorten(where, 40, placeholder="…")), key=f"goto_{node}",
                    on_click=state.do, args=(desks.select, node),
                )  # fmt: skip


def grouped(found: tuple[Finding, ...]) -> list[list[Finding]]:
    """Findings that say the same about different places, together; order kept."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for f in found:
        groups.setdefault((f.severity, f.code, f.function, f.message, f.cure), []).append(f)
    return list(groups.values())


def _places_html(same: list[Finding]) -> str:
    """Where it is; further places folded."""
    first, *others = [html.escape(f"{f.function}: {f.where}".rstrip(": ")) for f in same]
    if not others:
        return first
    lines = "".join(f"<p>{place}</p>" for place in others)
    return f"{first}<details><summary>and {len(others)} more</summary>{lines}</details>"


def _check_html(code: str) -> str:
    """The check's title, opening to what it is and why it matters."""
    check = CHECKS.get(code)
    if check is None:
        return f"<code>{html.escape(code)}</code>"
    about = "".join(f"<p>{html.escape(part)}</p>" for part in (check.__doc__ or "").split("\n\n"))
    return f"<details><summary>{html.escape(check.TITLE)}</summary>{about}</details>"
