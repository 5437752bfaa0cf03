"""Open something: a sample, pasted text, a file, a path, a saved experiment, a schedule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from explorer import samples
from explorer.errors import LoadError, Problem, UserError
from explorer.experiment import Experiment, parse
from explorer.model.loaded import Source
from explorer.ui import moves, say, state
from explorer.ui.components.codeview import codeview
from explorer.ui.desk import Desk

MAX_BYTES = 1_000_000
DEFAULT_TARGET = Experiment(source=Source("")).target


def next_target() -> str:
    """The target of what is open, kept for what is opened next."""
    desk = state.desk()
    return desk.experiment.target if desk is not None else DEFAULT_TARGET


def open_text(text: str, title: str) -> None:
    """Open a module; on failure stay, with the text and the reason at hand."""
    st.session_state["failed_text"] = text
    _opened(lambda: moves.open_text(Source(text), title=title, target=next_target()))


def open_sample(name: str) -> None:
    """Open a sample by its name."""
    sample = samples.sample(name)
    open_text(sample.text, sample.title)


def open_path(path: str) -> None:
    """Open a file of this machine by its path, as if it were uploaded."""
    st.session_state.pop("failed_text", None)
    try:
        open_upload(Path(path).name, read_file(path))
    except LoadError as error:
        state.tell(error.problem)


def read_file(path: str) -> bytes:
    """A file's bytes.  Raises LoadError when it can't be read or is too large."""
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > MAX_BYTES:
            raise LoadError(f"{file.name} is larger than {MAX_BYTES // 1000} kB.")
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} can't be read.", str(error), "Check the path.") from error


def open_upload(name: str, data: bytes) -> None:
    """A module, an experiment or a schedule, told apart by what is in it."""
    st.session_state.pop("failed_text", None)
    if name.endswith(".json") and b'"variants"' in data:
        _opened(lambda: _experiment(data))
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        state.tell(LoadError(f"{name} is not text.", do="Pick a Python or JSON file.").problem)
        return
    if name.endswith(".json") or is_schedule(text):
        _open_schedule(text, name)
    else:
        open_text(text, name)


def _experiment(data: bytes) -> Desk:
    experiment = parse(data)
    st.session_state["failed_text"] = experiment.source.text
    return moves.open_experiment(experiment)


def _open_schedule(text: str, name: str) -> None:
    """Schedule what is open with a file; nothing but a notice when nothing is open."""
    if state.desk() is None:
        told = LoadError(f"{name} is a schedule, without its module.", do="Open the module first.")
        state.tell(told.problem)
        return
    state.made(moves.schedule_text, text, Path(name).stem)
    if state.notice() is None:
        st.session_state["screen"] = "bench"


def is_schedule(text: str) -> bool:
    """Whether a Python text is a schedule: it uses `sch.` and defines no function of TVMScript."""
    return "sch." in text and "prim_func" not in text and "ir_module" not in text


def _opened(make: Callable[[], Desk]) -> None:
    state.dismiss()
    state.background().forgive()
    try:
        state.put(make())
    except UserError as error:
        state.tell(error.problem)
        return
    st.session_state.pop("failed_text", None)
    st.session_state["screen"] = "bench"


def draw() -> None:
    """The whole screen."""
    with st.container(horizontal=True, vertical_alignment="center", key="header"):
        st.html('<h1 class="app-name">Open</h1>', width="stretch")
        if state.desk() is not None:
            st.button("Back to the workbench", on_click=state.go, args=("bench",), key="back")
    _failure(state.notice())
    left, right = st.columns([1, 1], gap="large")
    with left:
        _samples()
    with right:
        _paste()
        _files()


def _samples() -> None:
    st.html('<div class="node-title">A sample</div>')
    with st.container(key="samples"):
        for sample in samples.samples():
            name, about = st.columns([2, 3], vertical_alignment="top", gap="small")
            name.button(
                say.plain(sample.title), key=f"sample_{sample.name}", on_click=open_sample,
                args=(sample.name,), width="stretch",
            )  # fmt: skip
            about.html(f'<p class="why">{say.inline(sample.about)}</p>')


def _paste() -> None:
    st.html('<div class="node-title">Paste TVMScript, or an error text</div>')
    st.text_area(
        "Text", key="pasted", height=230, label_visibility="collapsed", max_chars=MAX_BYTES,
        placeholder="A module, a function, or a whole notebook cell, of any TVM since 2021;\n"
        "or an error message, best with the module it prints. It is read, never executed.",
    )  # fmt: skip
    st.button("Open the text", key="open_pasted", type="primary", on_click=_open_pasted)


def _open_pasted() -> None:
    open_text(st.session_state["pasted"] or "", "Pasted text")


def _open_uploaded() -> None:
    file = st.session_state["upload"]
    if file is not None:
        open_upload(file.name, file.getvalue())


def _open_typed() -> None:
    open_path(st.session_state["path"] or "")


def _files() -> None:
    st.html('<div class="node-title">A file</div>')
    st.file_uploader(
        "A module (.py, .txt, .ipynb), a saved experiment or a schedule (.py, .json)",
        type=["py", "txt", "json", "ipynb"], key="upload", max_upload_size=1,
        on_change=_open_uploaded,
    )  # fmt: skip
    st.text_input("Or a path on this machine", key="path", placeholder="module.py")
    st.button("Open the path", key="open_path", on_click=_open_typed)


def _failure(problem: Problem | None) -> None:
    """Why it did not load: one sentence with a remedy, the line in the text, TVM's words."""
    if problem is None:
        return
    say.alert(say.sentence(problem))
    text = st.session_state.get("failed_text", "")
    if problem.line and text:
        codeview(
            text, "python", key="failed", height=220, label="The text as opened",
            spans={"line": [problem.line, problem.line]}, pane="failed",
        )  # fmt: skip
        from explorer.ui.components.link import link

        with st.container(key="link"):
            link(key="failed_link", selected="line", offers=[])
    say.details(problem.details)
