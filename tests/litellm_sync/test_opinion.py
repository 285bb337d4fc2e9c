"""What is made of LiteLLM's health checks, of one row and of all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from litellm_sync import opinion as checks
from litellm_sync.http import Answer
from litellm_sync.opinion import opinions
from litellm_sync.parsing import Unparsable

ROWS: dict[str, str | None] = {"a": "http://203.0.113.10:40001/v1", "b": "http://203.0.113.11:40001/v1", "c": None}
SECRET = "sk-master-made-up"


def answer(body: Any, status: int = 200) -> Answer:
    return Answer(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode(), 0.0)


def heard(up: list[Any], down: list[Any], rows: dict[str, str | None] | None = ROWS) -> dict[str, str]:
    """Row id → what is said of it."""
    found = opinions(answer({"healthy_endpoints": up, "unhealthy_endpoints": down}), rows, 5.0, [SECRET])
    assert [each.id for each in found] == sorted(each.id for each in found)
    assert {each.asked_at for each in found} <= {5.0}
    return {each.id: each.state for each in found}


@pytest.mark.parametrize(
    ("up", "down", "said"),
    [
        ([{"model_id": "a"}], [{"model_id": "b"}], {"a": "up", "b": "down"}),
        ([{"model_id": " a "}], [], {"a": "up"}),
        ([{"model_id": "of another"}], [], {}),
        ([{"model_id": "a"}, {"model_id": "a"}], [], {"a": "up"}),
        ([{"model_id": "a"}], [{"model_id": "a"}, {"model_id": "b"}], {"b": "down"}),
        # older versions name no ids
        ([{"api_base": "http://203.0.113.10:40001/v1"}], [], {"a": "up"}),
        ([{"api_base": "HTTP://203.0.113.10:40001/"}], [], {"a": "up"}),
        ([{"api_base": "http://203.0.113.99:40001/v1"}], [], {}),
        ([{"api_base": None}, {"api_base": ""}, {}], [], {}),
        ([{"model_id": None, "api_base": "http://203.0.113.11:40001"}], [], {"b": "up"}),
        ([{"api_base": ROWS["a"]}], [{"api_base": ROWS["a"]}], {}),
        # the id counts, whatever the address
        ([{"model_id": "b", "api_base": ROWS["a"]}], [], {"b": "up"}),
        ([{"model_id": "of another", "api_base": ROWS["a"]}], [], {}),
    ],
)
def test_it_joins_by_id_and_then_by_address(up: list[Any], down: list[Any], said: dict[str, str]) -> None:
    assert heard(up, down) == said


def test_it_says_nothing_of_rows_that_share_an_address() -> None:
    rows: dict[str, str | None] = {
        "a": "http://203.0.113.10:40001/v1",
        "b": "http://203.0.113.10:40001",
        "c": ROWS["b"],
    }
    assert heard([], [{"api_base": "http://203.0.113.10:40001/v1"}, {"api_base": ROWS["b"]}], rows) == {"c": "down"}


def test_it_goes_by_ids_alone_while_the_rows_are_not_known() -> None:
    assert heard([{"model_id": "x"}, {"api_base": ROWS["a"]}], [{"model_id": 7}], None) == {"x": "up", "7": "down"}
    assert heard([], [], None) == {}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"healthy_endpoints": [], "unhealthy_endpoints": []}, "a health check of none of its 3 rows"),
        ({}, "JSON of another shape"),
        ({"healthy_endpoints": []}, "JSON of another shape"),
        ({"healthy_endpoints": None, "unhealthy_endpoints": []}, "JSON of another shape"),
        ({"healthy_endpoints": ["a"], "unhealthy_endpoints": []}, "JSON of another shape"),
        (b"<html>", "a page (HTML)"),
    ],
)
def test_it_takes_nothing_else_for_a_list(body: Any, words: str) -> None:
    with pytest.raises(Unparsable) as caught:
        opinions(answer(body), ROWS, 5.0, [])
    assert words in caught.value.message


def test_it_keeps_one_line_of_an_error() -> None:
    error = f"litellm.APIError: no {SECRET}\nstack trace: Traceback (most recent call last):\n  File"
    body = {"healthy_endpoints": [], "unhealthy_endpoints": [{"model_id": "a", "error": error}]}
    (down,) = opinions(answer(body), ROWS, 5.0, [SECRET])
    assert down.detail == "litellm.APIError: no •••"


# --- the test of one connection -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"status": "success", "result": {"api_base": ROWS["a"]}}, "up"),
        ({"status": "success", "result": {"api_base": "http://203.0.113.10:40001"}}, "up"),
        ({"status": "error", "result": {"api_base": ROWS["a"], "error": "no\nstack trace: x"}}, "down"),
        ({"status": "error", "result": {"api_base": ROWS["b"], "error": "no"}}, "unknown"),
        ({"status": "error", "result": {"error": "no"}}, "unknown"),
        ({"status": "error", "result": {}}, "unknown"),
        ({"status": "perhaps", "result": {"api_base": ROWS["a"]}}, "unknown"),
        ({"status": ["success"], "result": {"api_base": ROWS["a"]}}, "unknown"),
        ({"status": "error"}, "unknown"),
        ({"result": {"api_base": ROWS["a"]}}, "unknown"),
        ([], "unknown"),
        (b"<html>", "unknown"),
        (b"", "unknown"),
    ],
)
def test_it_believes_a_test_of_the_row_s_own_address(body: Any, state: str) -> None:
    opinion = checks.tested(answer(body), "a", ROWS["a"], 5.0, [SECRET])
    assert (opinion.id, opinion.state, opinion.asked_at) == ("a", state, 5.0)
    assert "\n" not in opinion.detail
    assert bool(opinion.detail) == (state != "up")


def test_it_believes_any_address_of_a_row_whose_own_is_not_known() -> None:
    assert (
        checks.tested(answer({"status": "error", "result": {"api_base": ROWS["b"]}}), "c", None, 5.0, []).state
        == "down"
    )


@pytest.mark.parametrize("status", [400, 401, 404, 500, 503])
def test_it_takes_a_refusal_to_test_for_no_information(status: int) -> None:
    opinion = checks.tested(
        answer({"detail": {"error": "Failed to test connection: 'model'"}}, status), "a", None, 5.0, []
    )
    assert opinion.state == "unknown"
    assert opinion.detail == f"LiteLLM answers {status}: Failed to test connection: 'model'"
