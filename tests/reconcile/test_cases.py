"""The decision table, one scenario a file; and the laws that hold in each of them, also with a source lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reconcile.laws import EVERY_PASS
from tests.reconcile.outcome import differences
from tests.reconcile.scenario import files
from tests.reconcile.stage import Turn, played

each_case = pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)


@each_case
def test_it_decides_as_the_table_says(path: Path) -> None:
    wrong = {number: found for number, turn in enumerate(played(path), 1) if (found := differences(turn))}
    assert not wrong, "\n".join(f"step {number}: {each}" for number, found in wrong.items() for each in found)


@pytest.mark.parametrize("law", EVERY_PASS, ids=lambda law: law.__name__)
@each_case
def test_it_keeps_the_laws(path: Path, law: Callable[[Turn], None]) -> None:
    for turn in played(path):
        law(turn)
