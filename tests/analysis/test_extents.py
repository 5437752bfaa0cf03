"""The value of an extent as text."""

from __future__ import annotations

import pytest

from explorer.analysis.extents import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("n", 101),
        ("(n + 31) // 32", 4),
        ("T.int64(16) * n", 1616),
        ("T.max(n - 200, 0)", 0),
        ("T.min(n, 7) % 4", 3),
        ('T.Cast("int32", n)', 101),
        ("T.ceildiv(n, 2)", 51),
        ("-n", -101),
        ("m + 1", None),
        ("n // 0", None),
        ("__import__('os')", None),
        ("n ** 2", None),
        ("1.5", None),
        ("for", None),
    ],
)
def test_evaluate(text: str, value: int | None) -> None:
    assert evaluate(text, {"n": 101}) == value
