from __future__ import annotations

from typing import Any

import pytest

from litellm_sync.parsing import real, text, whole


@pytest.mark.parametrize(
    ("value", "number"),
    [(8000, 8000), ("8000", 8000), (" 8000\n", 8000), ("41234.0", 41234), (41234.0, 41234), (-1, -1)],
)
def test_it_reads_a_whole_number_however_it_is_written(value: Any, number: int) -> None:
    assert whole(value) == number


@pytest.mark.parametrize("value", [None, True, False, "", "x", "8000/tcp", 1.5, "nan", "inf", [], {}, float("inf")])
def test_it_reads_nothing_else_as_a_whole_number(value: Any) -> None:
    assert whole(value) is None


@pytest.mark.parametrize(("value", "number"), [("0.7133", 0.7133), (0, 0.0), ("1e3", 1000.0)])
def test_it_reads_a_real_number(value: Any, number: float) -> None:
    assert real(value) == number


@pytest.mark.parametrize("value", [None, True, "nan", "-inf", "x", [], 10**400])
def test_it_reads_nothing_else_as_a_real_number(value: Any) -> None:
    assert real(value) is None


@pytest.mark.parametrize(("value", "words"), [(" a \n", "a"), (5, "5"), ("", None), (" ", None), (True, None)])
def test_it_strips_text(value: Any, words: str | None) -> None:
    assert text(value) == words


@pytest.mark.parametrize("value", [None, [], {}, ["a"]])
def test_it_reads_nothing_else_as_text(value: Any) -> None:
    assert text(value) is None
