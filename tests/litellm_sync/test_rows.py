from __future__ import annotations

from typing import Any

import msgspec
import pytest

from litellm_sync.parsing import Unparsable
from litellm_sync.rows import deployments
from reconcile.identity import Key, deployment_id
from reconcile.inputs import Deployment
from reconcile.matching import is_ours

OURS = {
    "model_name": "qwen3-8b",
    "litellm_params": {"model": "hosted_vllm/qwen3-8b", "api_base": "http://203.0.113.10:40001/v1", "use_xai": False},
    "model_info": {
        "id": "llmao-1",
        "db_model": True,
        "blocked": False,
        "llmao_key": "http://203.0.113.10:8003",
        "asf_api_base": "http://203.0.113.10:40001",
        "llmao_body": "0123456789abcdef",
        "llmao_params": ["api_base", "api_key", "model"],
        "llmao_instance": "vast:31415926",
        "input_cost_per_token": None,
    },
}

ID = deployment_id(Key("http://203.0.113.10:8003", "qwen3-8b"))


def listing(*rows: Any) -> bytes:
    return msgspec.json.encode({"data": rows})


def row(name: str, identifier: str = "other-1", **rest: Any) -> dict[str, Any]:
    return {
        "model_name": name,
        "litellm_params": {"model": rest.get("model", "openai/gpt-4o"), "api_base": rest.get("api_base")},
        "model_info": {"id": identifier, "db_model": False},
    }


def test_it_reads_the_fields_that_we_own() -> None:
    assert deployments(listing(OURS)) == (
        Deployment(
            id="llmao-1",
            name="qwen3-8b",
            model="hosted_vllm/qwen3-8b",
            api_base="http://203.0.113.10:40001/v1",
            db_model=True,
            blocked=False,
            llmao_key="http://203.0.113.10:8003",
            asf_api_base="http://203.0.113.10:40001",
            llmao_body="0123456789abcdef",
            llmao_params=("api_base", "api_key", "model"),
            llmao_instance="vast:31415926",
        ),
    )


def test_it_reads_an_empty_list_as_no_deployments() -> None:
    assert deployments(b'{"data": []}') == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("litellm_params", None),
        ("litellm_params", []),
        ("litellm_params", "text"),
        ("litellm_params", {"model": None, "api_base": 5}),
        ("litellm_params", {"model": ["a"], "api_base": {"a": 1}}),
    ],
)
def test_it_tolerates_odd_params_in_the_rows_of_others(field: str, value: Any) -> None:
    (read,) = deployments(listing({**row("gpt-4o"), field: value}))
    assert (read.id, read.name, read.model) == ("other-1", "gpt-4o", "")
    assert read.api_base in (None, "5")


def test_it_tolerates_odd_types_of_our_own_fields() -> None:
    info = {"id": 7, "db_model": "false", "blocked": "true", "llmao_key": 5, "llmao_params": ["a", 1], "llmao_body": []}
    (read,) = deployments(listing({"model_name": "x", "model_info": info}))
    assert read == Deployment(
        id="7", name="x", model="", db_model=False, blocked=True, llmao_key="5", llmao_params=("a",), llmao_body=None
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "an empty body"),
        (b" \n ", "an empty body"),
        (b"<html>Loading</html>", "a page (HTML)"),
        (b"upstream error", "not JSON, or not all of it"),
        (b'{"data": [{"model_name": "a"', "not JSON, or not all of it"),
        (b"\xff\xfe\x00", "not JSON, or not all of it"),
        (b'{"x":' * 100_000, "not JSON, or not all of it"),
        (b'{"data": null}', "another shape"),
        (b'{"data": {}}', "another shape"),
        (b'{"data": [1]}', "another shape"),
        (b'{"data": [null]}', "another shape"),
        (b'{"rows": []}', "missing required field `data`"),
        (b"42", "another shape"),
        (b"null", "another shape"),
        (b"[]", "another shape"),
    ],
)
def test_it_takes_nothing_but_a_whole_list(body: bytes, words: str) -> None:
    with pytest.raises(Unparsable) as caught:
        deployments(body)
    assert words in caught.value.message


@pytest.mark.parametrize("info", [{}, None, {"id": ""}, {"id": True}, {"id": ["b"]}, {"id": "", "db_model": True}])
def test_it_keeps_a_row_without_an_id_as_one_that_cannot_be_written(info: Any) -> None:
    ours, odd = deployments(listing(OURS, {"model_name": "a", "model_info": info}))
    assert ours.id == "llmao-1"
    assert (odd.id, odd.name, odd.db_model) == ("(row 2 without an id)", "a", False)


@pytest.mark.parametrize(
    ("written", "read"), [("  ", "  "), ("", ""), (None, ""), (["a"], ""), (" tiny ", " tiny "), (7, "7")]
)
def test_it_keeps_names_as_litellm_compares_them(written: Any, read: str) -> None:
    """A blank name was enough for the whole list to be refused, and with it every write."""
    ours, odd = deployments(listing(OURS, {"model_name": written, "model_info": {"id": "blank-2", "db_model": True}}))
    assert (ours.name, odd.id, odd.name, odd.db_model) == ("qwen3-8b", "blank-2", read, True)


@pytest.mark.parametrize("identifier", [" ", f" {ID}", f"{ID} ", f"{ID}\n", "a/b c?d#e"])
def test_it_keeps_ids_as_litellm_compares_them(identifier: str) -> None:
    (odd,) = deployments(listing({"model_name": "a", "model_info": {"id": identifier}}))
    assert (odd.id, odd.db_model) == (identifier, True)
    assert not is_ours(odd), "an id of our form with blanks around it is another id"


def test_it_shows_an_alias_as_a_row_that_cannot_be_written() -> None:
    """LiteLLM 1.108.7 lists a deployment again under each name of `model_group_alias`, with the same id."""
    alias = {**OURS, "model_name": "my-alias"}
    ours, shown = deployments(listing(OURS, alias, alias))
    assert (ours.id, ours.name, ours.llmao_key) == ("llmao-1", "qwen3-8b", "http://203.0.113.10:8003")
    assert shown == Deployment(
        id="llmao-1@my-alias",
        name="my-alias",
        model="hosted_vllm/qwen3-8b",
        api_base="http://203.0.113.10:40001/v1",
        db_model=False,
    )


def test_it_keeps_one_row_of_a_wildcard_whatever_their_order() -> None:
    """LiteLLM 1.108.7 lists "openai/*" once for each of some 200 models, in no fixed order, all with one id."""
    names = ["openai/gpt-5-nano", "openai/gpt-4o", "openai/o3"]
    rows = [row(name, "wild-1", model=name) for name in names]
    for order in (rows, rows[::-1]):
        assert [(read.id, read.name) for read in deployments(listing(*order))] == [("wild-1", "openai/gpt-4o")]


def test_it_keeps_the_order_and_two_names_on_one_address() -> None:
    rows = [row(name, name, api_base="https://api.example/v1") for name in ("c", "a", "b")]
    assert [read.id for read in deployments(listing(*rows))] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("https://ada:hunter2@api.example.com/v1", "https://api.example.com/v1"),
        ("https://api.example.com/v1?key=hunter2", "https://api.example.com/v1"),
        ("http://[broken?key=hunter2", None),
        ("https://api.example.com/v1", "https://api.example.com/v1"),
    ],
)
def test_it_keeps_no_secret_of_an_address(written: str, kept: str | None) -> None:
    (read,) = deployments(listing(row("gpt", api_base=written)))
    assert read.api_base == kept
