"""Small helpers for reading CUDA text."""

from __future__ import annotations

import re


class Unsupported(Exception):
    """The emulator does not know a construct; the message names it."""


_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def blank_comments(text: str) -> str:
    """The text with comments as blanks of the same length, so that positions stay."""

    def blank(found: re.Match[str]) -> str:
        whole = found.group(0)
        return whole if whole[0] == '"' else re.sub(r"[^\n]", " ", whole)

    return _COMMENT.sub(blank, text)


def closing(text: str, start: int) -> int:
    """Position of the bracket that closes the one at `start`; strings are skipped."""
    depth, i = 0, start
    while i < len(text):
        if text[i] == '"':
            i += 1
            while i < len(text) and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    raise Unsupported("text with unbalanced brackets")


def split_top(text: str, separator: str) -> list[str]:
    """Split at a separator that is not inside brackets or strings."""
    parts, depth, last, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        if c == '"':
            i += 1
            while i < len(text) and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[last:i])
            last = i + 1
        i += 1
    parts.append(text[last:])
    return parts
