"""Every verdict has a word: one without would be an error page, and a traceback at the command line."""

from typing import Any, get_args

import pytest

from fleet.pages import words
from reconcile.inputs import Kind
from reconcile.view import Lifecycle, ModelStatus, Privacy, ProbeState, SourceState, Status


@pytest.mark.parametrize(
    ("table", "verdicts"),
    [
        (words.PROBE, ProbeState), (words.LIFECYCLE, Lifecycle), (words.STATUS, Status), (words.KIND, Kind),
        (words.MODEL, ModelStatus), (words.PRIVACY, Privacy), (words.SOURCE, SourceState),
    ],
)  # fmt: skip
def test_it_has_a_word_for_every(table: dict[str, Any], verdicts: Any) -> None:
    assert set(table) == set(get_args(verdicts))
