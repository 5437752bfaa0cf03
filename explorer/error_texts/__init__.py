"""Pasted error messages explained: one sentence, why, and what to do.  Pure text, no TVM."""

from __future__ import annotations

import re

from explorer.error_texts.messages import MESSAGES, launch, new_name, variables
from explorer.error_texts.schedule_errors import RULES
from explorer.model.diagnosis import ErrorText

_EXCERPT = 240
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)|^\s*(?:[\w.]+\.)?\w*(?:Error|Exception)\b[: ]"
    r"|Check failed:|Error message:|InternalError|terminate called|Did you forget to bind\?"
    r"|Memory verification failed|CUDA_ERROR_[A-Z]|ptxas (?:error|fatal)|\(\d+\): error:",
    re.MULTILINE,
)
_SCHEDULE = re.compile(r"ScheduleError|schedule primitive '(?P<method>\w+)'|Error message:")


def explain(text: str) -> ErrorText | None:
    """What the error message in `text` means; None when `text` holds none that is known."""
    for kind, pattern, what, why, do in MESSAGES:
        found = re.search(pattern, text)
        if found:
            words = _words(text, found)
            said = (part.format_map(words) for part in (what, why, do))
            return _error(kind, text, found.start(), *said)
    return _schedule_error(text)


def is_error(text: str) -> bool:
    """Whether `text` looks like an error message at all, known or not."""
    return _ERROR.search(text) is not None


def told_in(text: str) -> ErrorText | None:
    """`explain` for a text that may be mostly a module: only what reads like an error counts."""
    return explain(text) if is_error(text) else None


def _words(text: str, found: re.Match[str]) -> dict[str, str]:
    groups = {key: value for key, value in found.groupdict().items() if value is not None}
    name = next((groups[k] for k in ("name", "other", "said", "ptxas") if k in groups), "")
    words = {"block": "root", "module": "tvm", "used": "0", "most": "0", **groups, "name": name}
    if "used" in groups and "most" in groups:
        words |= {key: str(int(groups[key], 16)) for key in ("used", "most")}
    names = variables(text)
    words["variables"] = f" ({', '.join(names)})" if names else ""
    words["new_name"] = new_name(name)
    words["launch"] = launch(text)
    return words


def _schedule_error(text: str) -> ErrorText | None:
    """A refusal of a schedule primitive, told in the words of our own refusals."""
    if not _SCHEDULE.search(text):
        return None
    _, mark, message = text.rpartition("Error message:")
    message = message if mark else text
    method = next((m["method"] for m in _SCHEDULE.finditer(text) if m["method"]), "")
    block, loop = _named(text, "SBlock") or _named(text, "Block"), _named(text, "For")
    words = {
        "method": method or "the primitive", "subject": block or loop or "it",
        "block": block or "of that step", "blocks": block or "named there",
        "loop": f"loop {loop}" if loop else "the loop", "inner": "the inner loop",
        "culprit": "", "trouble": "can't be run in parallel", "cure": "",
    }  # fmt: skip
    for pattern, what, why, do in RULES:
        found = re.search(pattern, message, re.DOTALL)
        if found:
            given = {**words, **{k: v for k, v in found.groupdict().items() if v is not None}}
            said = [part.format_map(given) for part in (what, why, do)]
            if said[0].startswith(("the ", "loop ", "it ")):  # not a name from the module
                said[0] = said[0][0].upper() + said[0][1:]
            at = text.rfind(message.strip()[:40])
            return _error("schedule", text, max(at, 0), *said)
    if not mark:
        return None
    first = message.strip().split("\n")[0]
    what = f"The schedule primitive {method} does not apply here.".replace("  ", " ")
    return _error("schedule", text, text.rfind(first), what, first, "Open the module and try it.")


def _named(text: str, kind: str) -> str:
    """The name of the block or loop that TVM marked with a comment `# tirx.For#0` above it."""
    found = re.search(
        rf"#\s*(?:s_tir|tirx|tir)\.{kind}#0[^\n]*\n\s*"
        r"(?:with T\.s?block\(\"(?P<block>[^\"]+)\"|for (?P<loop>\w+(?:, \w+)*) in)",
        text,
    )
    return (found["block"] or found["loop"] or "") if found else ""


def _error(kind: str, text: str, start: int, what: str, why: str, do: str) -> ErrorText:
    line = text.count("\n", 0, start) + 1
    excerpt = text.split("\n")[line - 1].strip()[:_EXCERPT]
    return ErrorText(kind=kind, what=what, why=why, do=do, line=line, excerpt=excerpt)


__all__ = ["explain", "is_error", "told_in"]
