"""TVM's refusals as one sentence in TensorIR's terms; its own text is kept as details.

TVM's text is one to four kilobytes: the module, underlined, then "Error message:" and a sentence
that calls the blocks and loops it means `s_tir.SBlock#0` and `tirx.For#1`.  The "Access path:"
lines say which they are; `schedule_errors` says what it means.
"""

from __future__ import annotations

import re
from typing import Any

from tvm import error, ir, s_tir, tirx

from explorer.engine.culprits import why_not_parallel, why_not_pipeline
from explorer.error_texts.schedule_errors import RULES
from explorer.errors import StepRefused

REFUSALS = (
    s_tir.ScheduleError, TypeError, ValueError, IndexError, KeyError, AssertionError,
    error.InternalError,
)  # fmt: skip
"""What a schedule primitive raises when it does not apply; anything else is a bug."""


def explain(
    method: str,
    failure: Exception,
    subjects: list[str] | None = None,
    mod: ir.IRModule | None = None,
) -> StepRefused:
    """A StepRefused that says why `method` does not apply.

    `subjects` are the names of the loops and blocks it was called with, in that order; `mod` is the
    module it was called on, where TVM's paths are looked up.
    """
    text = str(failure)
    message = _message(text)
    blocks, loops = _places(text, mod, subjects or [])
    subject = next((name for name in subjects or [] if name in blocks), None) or (
        subjects[0] if subjects else "this"
    )
    words = {
        "method": method,
        "subject": subject,
        "block": blocks[0].name_hint if blocks else subject,
        "blocks": ", ".join(dict.fromkeys(str(b.name_hint) for b in blocks)),
        "loop": str(loops[0].loop_var.name) if loops else (subjects or ["the loop"])[-1],
        "inner": str(loops[1].loop_var.name) if len(loops) > 1 else (subjects or ["?"])[-1],
        "culprit": "",
        "trouble": "can't be run in parallel",
        "cure": "",
    }
    if blocks:
        words["trouble"], words["cure"] = why_not_parallel(blocks[0])
    if "stage pipeline" in message and blocks:
        words["culprit"] = why_not_pipeline(blocks[0])
    for pattern, what, why, do in RULES:
        found = re.search(pattern, message, re.DOTALL)
        if found:
            given = {**words, **{k: v for k, v in found.groupdict().items() if v is not None}}
            said = [_readable(part.format_map(given)) for part in (what, why, do)]
            return StepRefused(*said, details=text)
    why = _readable(_plain(message, words))
    return StepRefused(f"{method} does not apply here.", why, details=text)


def _readable(text: str) -> str:
    """A sentence in which a block or loop whose name is not known is "this block"."""
    return re.sub(
        r"\b([BbLl])(lock|oop) this\b",
        lambda at: f"{'This' if at[1].isupper() else 'this'} {at[1].lower()}{at[2]}",
        text,
    )


def _message(text: str) -> str:
    """What follows "Error message:", or the whole of a short text."""
    _, mark, message = text.rpartition("Error message:")
    message = message if mark else text
    return re.sub(
        r"^\s*(ScheduleError|TypeError|ValueError|InternalError):\s*", "", message
    ).strip()


def _plain(message: str, words: dict[str, str]) -> str:
    """An unknown message: its first paragraph, with names for TVM's numbered objects."""
    first = message.split("\n")[0].strip()
    first = re.sub(r"^Check failed: .* is (true|false):\s*", "", first) or first
    first = re.sub(r"(the )?(block )?s_tir\.SBlock#\d+", f"block {words['block']}", first)
    return re.sub(r"(the )?(loop )?tirx\.For#\d+", f"loop {words['loop']}", first)


_PATH = re.compile(
    r'Access path: <root>\.functions\[I\.GlobalVar\("([^"]+)"\)\]((?:\.\w+|\[\d+\])*)'
)


def _places(text: str, mod: ir.IRModule | None, subjects: list[str]) -> tuple[list[Any], list[Any]]:
    """The blocks and loops that TVM's access paths lead to; loops in the order of `subjects`."""
    blocks: list[Any] = []
    loops: list[Any] = []
    if mod is None:
        return blocks, loops
    functions = {var.name_hint: func for var, func in mod.functions_items()}
    for name, path in _PATH.findall(text):
        place: Any = functions.get(name)
        for attribute, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
            place = place[int(index)] if index else getattr(place, attribute, None)
            if place is None:
                break
        if isinstance(place, s_tir.SBlock):
            blocks.append(place)
        elif isinstance(place, tirx.For):
            loops.append(place)

    def position(loop: Any) -> int:
        at = str(loop.loop_var.name)
        return subjects.index(at) if at in subjects else len(subjects)

    return blocks, sorted(loops, key=position)
