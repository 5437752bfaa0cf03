"""Every public report under tests/cases loads, or is refused with the right sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.dialect import prepare
from explorer.engine.load import load
from explorer.errors import LoadError
from explorer.model.loaded import Source

CASES = sorted(path.parent for path in Path(__file__).parents[1].glob("cases/*/module.py"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_loads_as_expected(case: Path) -> None:
    text = (case / "module.py").read_text()
    expected = json.loads((case / "expected.json").read_text())
    if not expected["loads"]:
        with pytest.raises(LoadError) as caught:
            load(Source(text))
        problem = caught.value.problem
        assert (problem.kind, problem.line, problem.what) == (
            expected["kind"], expected["line"], expected["what"],
        )  # fmt: skip
        return
    loaded = load(Source(text))
    assert loaded.module == expected["module"]
    assert list(loaded.modules) == expected["modules"]
    assert sorted(func.name for func in loaded.nest.functions) == sorted(expected["functions"])
    assert list(loaded.symbols) == expected["symbols"]
    assert sorted({one.rule for one in loaded.migrations}) == expected["rules"]
    assert dict(loaded.constants) == expected["constants"]
    assert bool(loaded.schedule) == expected["schedule"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_was_migrated_needs_no_more(case: Path) -> None:
    if not json.loads((case / "expected.json").read_text())["loads"]:
        return
    once = prepare((case / "module.py").read_text())
    twice = prepare(once.script.text)
    assert twice.script.text == once.script.text
    assert twice.migrations == ()


def test_there_are_64_cases() -> None:
    assert len(CASES) == 64
