"""All checks together: their contract, their order, and one that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer import findings
from explorer.findings.document import document
from tests.findings.finding_modules import found, scale

ROOT = Path(__file__).parents[2]
SEVERITIES = ("error", "warning", "info")


@pytest.mark.parametrize("code", sorted(findings.CHECKS))
def test_contract(code: str) -> None:
    module = findings.CHECKS[code]
    assert module.__name__.rsplit(".", 1)[-1] == code
    assert module.TITLE
    what, why, cure = (module.__doc__ or "").strip().split("\n\n")
    assert what.startswith("What it is: ")
    assert why.startswith("Why it matters: ")
    assert cure.startswith("What to try: ")


def test_every_check_has_a_test() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [code for code in findings.CHECKS if f'"{code}"' not in tests] == []


def test_worst_first() -> None:
    source = scale(4096, ("i", 4096, "threadIdx.x"), index="i")
    order = [SEVERITIES.index(f.severity) for f in found(source)]
    assert order == sorted(order)
    assert order[0] == 0


def test_a_check_that_fails_is_seen_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(ctx: object) -> list[object]:
        raise KeyError("lanes")

    monkeypatch.setattr(findings.CHECKS["idle_lanes"], "check", broken)
    seen = found(scale(4096, ("i", 4096, "threadIdx.x"), index="i"))
    (failed,) = [f for f in seen if f.code == "check_failed"]
    assert "idle_lanes" in failed.where
    assert "KeyError" in failed.message
    assert any(f.code == "threads_per_block" for f in seen)


def test_the_documentation_is_in_step() -> None:
    assert (ROOT / "docs" / "findings.md").read_text(encoding="utf-8") == document(), (
        "run: python -m explorer.findings.document docs/findings.md"
    )
