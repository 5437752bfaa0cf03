"""docs/dialects.md says what the rules are."""

from pathlib import Path

from explorer.dialect.table import page


def test_the_page_is_what_the_rules_say() -> None:
    written = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text()
    assert written == page(), "run: python -m explorer.dialect.table > docs/dialects.md"
