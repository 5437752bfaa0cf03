"""docs/primitives.md says what the code says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from explorer.primitives import STEPS
from explorer.primitives.base import MENUS
from explorer.primitives.reference import markdown

PAGE = Path(__file__).parents[2] / "docs" / "primitives.md"


def test_the_page_is_in_step_with_the_code() -> None:
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(markdown(STEPS), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == markdown(STEPS)


@pytest.mark.parametrize("cls", STEPS.values(), ids=lambda cls: cls.op())
def test_every_primitive_shows_before_and_after(cls) -> None:
    doc = cls.__doc__
    assert doc.splitlines()[0].endswith(".")
    assert "Before:" in doc
    assert "after" in doc.lower()
    assert cls.MENU in MENUS
