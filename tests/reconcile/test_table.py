"""docs/decision-table.md says what the scenarios say."""

from __future__ import annotations

from tests.reconcile.scenario import files
from tests.reconcile.table import DOCUMENT, ROWS, document

WRITTEN = DOCUMENT.read_text(encoding="utf-8")


def test_it_is_current() -> None:
    assert document() == WRITTEN, "the scenarios say something else: run `make docs` and look at the difference"


def test_it_has_every_row() -> None:
    sections = WRITTEN.split("\n## ")[1:]
    told = {section.split("\n")[0]: section.count("\n| [") for section in sections}
    assert [row for row in ROWS if not told.get(row)] == []


def test_it_names_every_scenario() -> None:
    assert [path.name for path in files() if f"/{path.name})" not in WRITTEN] == []
