"""Take the chosen variant away: script, TVMScript, CUDA, trace."""

from __future__ import annotations

import streamlit as st

from explorer.ui import ask, say
from explorer.ui.desk import Desk
from explorer.ui.panels.header import file_stem
from explorer.ui.words import worst

FORMS = {
    "python": "Python script",
    "tvmscript": "TVMScript of the result",
    "cuda": "CUDA source",
    "trace": "JSON trace",
}
ABOUT = {
    "python": "One file that needs TVM and numpy: the module, the steps, the build, a check "
    "against a reference, and timing when there is a GPU.",
    "tvmscript": "The scheduled module as text.",
    "cuda": "The device text of this build.",
    "trace": "TVM's own trace: opens again here, and in TVM with Trace.apply_json_to_schedule.",
}
MIMES = {"python": "text/x-python", "tvmscript": "text/x-python", "trace": "application/json"}


def draw(desk: Desk, result: ask.Result) -> bool:
    """One row a format; True while something is still being made."""
    if result.waiting:
        say.note("The export waits for the verdict, which is written into it.")
        return True
    verdict = worst(result.build) if result.build is not None else None
    check = f"{verdict.status}: {verdict.detail}" if verdict is not None else ""
    pending = [_row(desk, form, title, check) for form, title in FORMS.items()]
    return any(pending)


def _row(desk: Desk, form: str, title: str, check: str) -> bool:
    answer = ask.exported(desk, form, check)
    left, right = st.columns([1, 3], vertical_alignment="center")
    with left:
        if answer.value is not None:
            st.download_button(
                title, answer.value.text, answer.value.name or file_stem(desk),
                MIMES.get(form, "text/plain"), key=f"export_{form}", on_click="ignore",
                width="stretch", type="primary" if form == "python" else "secondary",
            )  # fmt: skip
        else:
            st.button(title, key=f"export_{form}", disabled=True, width="stretch")
    with right:
        if answer.value is not None:
            say.note(f"{ABOUT[form]} {answer.value.verified}")
        elif answer.problem is not None:
            say.note(say.sentence(answer.problem))
        else:
            say.note(f"{ABOUT[form]} Being made and run once to see that it reproduces…")
    return answer.pending
