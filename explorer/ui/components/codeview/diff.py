"""Two texts as aligned rows, with the changed words of changed lines."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

Marks = list[list[int]]
Row = dict[str, object]

SHOWN_LINES = 4000
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@lru_cache(maxsize=64)
def diff_rows(before: str, after: str) -> list[Row]:
    """Rows {"op", "a", "b", "ta", "tb", "ma", "mb"}: line numbers (0: no line), texts, word marks.

    `op` is "same", "change", "del" or "add"; marks are [from, to) columns.  Each side is cut
    after `SHOWN_LINES` lines.
    """
    a, b = before.splitlines()[:SHOWN_LINES], after.splitlines()[:SHOWN_LINES]
    rows: list[Row] = []
    for op, i1, i2, j1, j2 in difflib.SequenceMatcher(
        None, a, b, autojunk=len(a) > 800
    ).get_opcodes():
        for k in range(max(i2 - i1, j2 - j1)):
            i, j = i1 + k, j1 + k
            left, right = i < i2, j < j2
            kind = (
                "same"
                if op == "equal"
                else "change"
                if left and right
                else "del"
                if left
                else "add"
            )
            ma, mb = word_marks(a[i], b[j]) if kind == "change" else ([], [])
            rows.append(
                {
                    "op": kind, "a": i + 1 if left else 0, "b": j + 1 if right else 0,
                    "ta": a[i] if left else "", "tb": b[j] if right else "", "ma": ma, "mb": mb,
                }
            )  # fmt: skip
    return rows


def word_marks(left: str, right: str) -> tuple[Marks, Marks]:
    """The columns of the words that differ between two lines."""
    x, y = _WORD.findall(left), _WORD.findall(right)
    ends_x, ends_y = _ends(x), _ends(y)
    marks_x: Marks = []
    marks_y: Marks = []
    for op, i1, i2, j1, j2 in difflib.SequenceMatcher(None, x, y, autojunk=False).get_opcodes():
        if op != "equal":
            if i2 > i1:
                marks_x.append([ends_x[i1], ends_x[i2]])
            if j2 > j1:
                marks_y.append([ends_y[j1], ends_y[j2]])
    return marks_x, marks_y


def _ends(words: list[str]) -> list[int]:
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return ends
