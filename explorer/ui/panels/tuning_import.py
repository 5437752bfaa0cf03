"""A search or a database from elsewhere: what is in it, and how it is worked with here."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explorer import tunes as jobs
from explorer import workbench
from explorer.errors import ExperimentError
from explorer.model.loaded import Source
from explorer.tuning.records import Records, TuningRecord
from explorer.ui import desk as desks
from explorer.ui import say, state, tunes
from explorer.ui.ask import PATIENCE_S
from explorer.ui.components.picktable import Row, picktable
from explorer.ui.desk import Desk
from explorer.ui.times import micros

OPEN = "?folder"
"""Stands for this form where a job's folder is shown."""
ROWS = 200
HEIGHT = 330


def draw(desk: Desk) -> None:
    """Name a folder; a job is opened, a database is listed."""
    st.html('<div class="node-title">Open a folder</div>')
    say.note(
        "The work folder of `tune_tir`, a database file of TVM, or another person's search: its "
        "records become candidates here, and the folder itself is left as it is."
    )
    text = st.text_input(
        "Folder or database file", key="tune_path", placeholder="Path on this machine",
        persist_state="session",
    )  # fmt: skip
    text = (text or "").strip()
    if not text:
        return
    path = Path(text).expanduser().absolute()
    if (path / "job.json").is_file():
        say.note("This is a search of this program, with everything it saw.")
        st.button(
            "Open the search", key="tune_import", type="primary", on_click=tunes.go_to, args=(path,)
        )
        return
    _database(desk, path)


def _database(desk: Desk, path: Path) -> None:
    answer = state.background().ask(workbench.records, str(path), wait_s=PATIENCE_S)
    if answer.problem is not None:
        say.problem(answer.problem)
        return
    found = answer.value
    if found is None:
        say.note("The files are being read…")
        return
    st.html(f'<p class="why">{say.inline(about(found))}</p>')
    with st.container(horizontal=True):
        st.button(
            "Open as a search", key="tune_import", type="primary", on_click=_import,
            args=(path, None), disabled=not found.records,
            help="With the functions that the database holds. It can be resumed and steered.",
        )  # fmt: skip
        st.button(
            "Use for the open module", key="tune_import_here", on_click=_import,
            args=(path, desk.source), disabled=not found.records,
            help="For those functions of the module that are the same, names aside.",
        )  # fmt: skip
    _records(desk, path, found)
    if found.skipped:
        with st.expander(f"{len(found.skipped)} lines were skipped"):
            for bad in found.skipped[:ROWS]:
                say.note(f"{bad.file}, line {bad.line}: {bad.reason}")


def about(found: Records) -> str:
    """What a database holds, in a sentence."""
    timed = [record.us for record in found.records if record.us is not None]
    best = f" The fastest took {micros(min(timed))}." if timed else ""
    return (
        f"{len(found.records)} records of {len(found.workloads)} functions, "
        f"{len(timed)} with a time.{best}"
    )


def rows(found: Records) -> list[Row]:
    """Every record, by function, fastest first."""
    listed = []
    for workload in found.workloads:
        name = workload.about()
        for record in found.of(workload.number):
            figure = "no time" if record.us is None else micros(record.us)
            listed.append(
                Row(
                    str(record.number),
                    (f"#{record.number}", figure, name, record.target),
                    f"{record.runs} runs, {record.instructions} instructions",
                )
            )
    return listed[:ROWS]


def _records(desk: Desk, path: Path, found: Records) -> None:
    def chosen() -> None:
        fired = state.fired("tune_records", "pick")
        if fired:
            st.session_state["tune_record"] = int(fired["id"])

    at = st.session_state.get("tune_record")
    picktable(
        rows(found), key="tune_records", label="Records", on_pick=chosen, group=str(path),
        head=("", "Time", "Function", "Target"), selected=str(at), height=HEIGHT, wide=2,
        empty="No record could be read.",
    )  # fmt: skip
    if len(found.records) > ROWS:
        say.note(f"{ROWS} of {len(found.records)} are listed.")
    record = found.record(at) if isinstance(at, int) else None
    if record is not None:
        st.button(
            f"Make record {record.number} a variant", key="tune_record_variant",
            on_click=state.do, args=(from_record, str(path), record),
        )  # fmt: skip


def from_record(desk: Desk, path: str, record: TuningRecord) -> Desk:
    """A record as a variant of the open module.  Raises UserError when it is for another one."""
    proposal = workbench.read_record(desk.source, (), path, record.number)
    name = f"record {record.number}"
    if proposal.refusal is not None and not proposal.steps:
        raise ExperimentError(
            f"{name.capitalize()} could not be replayed.", proposal.refusal.what,
            details=proposal.refusal.details,
        )  # fmt: skip
    return desks.new_variant(desk, name, workbench.steps_of(proposal), proposal.outcomes)


def _import(path: Path, source: Source | None) -> None:
    def both() -> None:
        folder, taken = jobs.import_folder(path, source)
        tunes.show(folder)
        if taken.left_out:
            st.session_state["tune_left_out"] = (str(folder), taken.left_out)

    tunes.do(both)
