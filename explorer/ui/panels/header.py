"""The top line: what is open, what it is built for, sizes, and the experiment as a file."""

from __future__ import annotations

import html
import re

import msgspec
import streamlit as st

from explorer import workbench
from explorer.errors import SizeError, UserError
from explorer.experiment import dump
from explorer.model.doctor import Tool
from explorer.model.target import Target
from explorer.ui import desk as desks
from explorer.ui import moves, say, state
from explorer.ui.desk import Desk
from explorer.ui.words import Badge, badge_html, facts_html, size, table_html
from explorer.worker import client

TITLE_CHARS = 48
WORKERS = {
    "cold": "The workers have not been started yet.",
    "warming": "The workers answer; TVM's intrinsics are still being imported.",
    "ready": "The workers are ready.",
}


def draw(desk: Desk) -> bool:
    """Name, open, target, sizes, save; nothing of it is waited for."""
    with st.container(horizontal=True, vertical_alignment="center", key="header", gap="small"):
        title = desk.experiment.title or desk.loaded.module
        if len(title) > TITLE_CHARS:
            title = title[:TITLE_CHARS] + "…"
        st.html(
            f'<h1 class="app-name">TVM Schedule Explorer<small>{html.escape(title)}</small></h1>',
            width="stretch",
        )
        _modules(desk)
        st.button("Open…", on_click=state.go, args=("open",), key="open")
        _target(desk)
        if desk.loaded.symbols:
            _sizes(desk)
        _machine()
        st.download_button(
            "Save experiment", dump(desk.experiment), f"{file_stem(desk)}.experiment.json",
            "application/json", key="save", on_click="ignore",
            help="One small JSON file: the text, the target, sizes and every variant's steps. "
            "Open… takes it back.",
        )  # fmt: skip
    return False


def file_stem(desk: Desk) -> str:
    """A file name without extension from the experiment's title."""
    return re.sub(r"[^A-Za-z0-9]+", "_", desk.experiment.title).strip("_").lower()[:40] or "module"


def _modules(desk: Desk) -> None:
    if len(desk.loaded.modules) < 2:
        return

    def change() -> None:
        state.do(moves.other_module, st.session_state["module"])

    st.selectbox(
        "Module", desk.loaded.modules, index=desk.loaded.modules.index(desk.loaded.module),
        key="module", on_change=change, label_visibility="collapsed", width=180,
    )  # fmt: skip


def _target(desk: Desk) -> None:
    current = desk.experiment.target
    with st.popover(
        f"Target: {say.plain(target_name(current))}", key="target_pop", on_change="rerun"
    ) as pop:
        if not pop.open:
            return
        known: list[str] = []
        try:
            known = [target.tag for target in workbench.targets()]
            st.html(_limits(workbench.target(current)))
        except UserError as error:
            say.note(str(error))
        options = known if current in known else [current, *known]
        st.selectbox(
            "Build for", options, index=options.index(current), key="target", width=340,
            accept_new_options=True, on_change=_change_target,
            help="Type to search TVM's tags, or write an architecture like sm_90.",
        )  # fmt: skip


def _change_target() -> None:
    picked = st.session_state["target"]
    if picked:
        state.do(_checked_target, picked)


def target_name(tag: str) -> str:
    """A tag without its vendor: "geforce-rtx-4090"."""
    return tag.rpartition("/")[2]


def _checked_target(desk: Desk, text: str) -> Desk:
    return desks.set_target(desk, workbench.target(text.strip()).tag)


def _limits(target: Target) -> str:
    rows = [("architecture", target.arch or "this machine's CPU")]
    if target.kind == "cuda":
        rows += [
            ("threads per block", str(target.max_threads_per_block)),
            ("shared memory per block", size(target.max_shared_memory_per_block)),
            ("registers per block", str(target.registers_per_block)),
        ]
    rows += [("filled in", text) for text in target.assumed]
    return facts_html(rows)


def _machine() -> None:
    """How far the workers are, and what is installed; asked for when it is opened."""
    with st.popover("Machine", key="machine", on_change="rerun") as pop:
        if not pop.open:
            return
        st.html(f'<p class="why">{WORKERS[client.status().state]}</p>')
        try:
            st.html(tools_html(workbench.tools()))
        except UserError as error:
            say.note(str(error))


def tools_html(tools: tuple[Tool, ...]) -> str:
    """What is there, what for, and how to get what is missing."""
    rows = [
        [
            badge_html(Badge("there", "good") if tool.found else Badge("missing", "calm")),
            html.escape(f"{tool.name} {tool.version}".strip()),
            html.escape(tool.purpose if tool.found else f"{tool.purpose} {tool.repair}"),
        ]
        for tool in tools
    ]
    return table_html(["", "Tool", "What for"], rows, "On this machine")


def _sizes(desk: Desk) -> None:
    known = desk.experiment.sizes
    with (
        st.popover(f"Sizes: {say.plain(moves.sizes_text(desk))}", key="sizes_pop"),
        st.form("sizes", border=False),
    ):
        say.note("Symbolic sizes need a value where a kernel is checked, bounded or timed.")
        for name in desk.loaded.symbols:
            st.number_input(
                say.plain(name), min_value=0, value=known.get(name), step=1, key=f"n_{name}"
            )
        with st.container(horizontal=True):
            st.form_submit_button("Use these sizes", type="primary", on_click=_change_sizes)
            st.form_submit_button(
                "Write them into the module", on_click=_fix_sizes,
                help="Opens the module with numbers in place of the symbols, as tuning needs it.",
            )  # fmt: skip


def _typed_sizes() -> dict[str, int]:
    desk = state.desk()
    names = desk.loaded.symbols if desk is not None else ()
    given = {name: st.session_state.get(f"n_{name}") for name in names}
    return {name: int(value) for name, value in given.items() if value is not None}


def _change_sizes() -> None:
    state.do(_checked_sizes, _typed_sizes())


def _fix_sizes() -> None:
    state.do(lambda desk, sizes: moves.fix_sizes(_checked_sizes(desk, sizes)), _typed_sizes())


def _checked_sizes(desk: Desk, sizes: dict[str, int]) -> Desk:
    try:
        sizes = msgspec.convert(sizes, dict[str, int])
    except msgspec.ValidationError as error:
        raise SizeError("A size is not a whole number.", str(error)) from error
    return desks.set_sizes(desk, sizes)
