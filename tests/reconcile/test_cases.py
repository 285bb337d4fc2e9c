"""The decision table, one scenario a file; and what holds of every decision whatever it is about."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from reconcile.decide import Decision, reconcile
from tests.reconcile.outcome import differences
from tests.reconcile.scenario import files
from tests.reconcile.stage import played
from tests.reconcile.turning import turned

each_case = pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)


@each_case
def test_it_decides_as_the_table_says(path: Path) -> None:
    wrong = {number: found for number, turn in enumerate(played(path), 1) if (found := differences(turn))}
    assert not wrong, "\n".join(f"step {number}: {each}" for number, found in wrong.items() for each in found)


@each_case
def test_it_decides_the_same_twice_and_leaves_its_inputs_alone(path: Path) -> None:
    for turn in played(path):
        inputs = (turn.snapshots, turn.history, turn.settings)
        before = msgspec.json.encode(inputs)
        again = reconcile(*inputs, turn.now)
        assert msgspec.json.encode(again) == msgspec.json.encode(turn.decision)
        assert msgspec.json.encode(inputs) == before


@each_case
def test_it_does_not_mind_the_order_of_rows(path: Path) -> None:
    for turn in played(path):
        again = reconcile(turned(turn.snapshots), turn.history, turn.settings, turn.now)
        assert msgspec.json.encode(again, order="sorted") == msgspec.json.encode(turn.decision, order="sorted")


@each_case
def test_it_survives_being_stored(path: Path) -> None:
    for turn in played(path):
        stored = msgspec.json.encode(turn.decision)
        assert msgspec.json.decode(stored, type=Decision) == turn.decision
