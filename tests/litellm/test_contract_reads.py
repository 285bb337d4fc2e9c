"""What LiteLLM answers when it is read, and to whom."""

from __future__ import annotations

import pytest

from tests.litellm.conftest import BOX_KEY, CONFIG_NAME, CONFIG_ROW, Contract


def test_it_tells_anyone_whether_it_is_ready(litellm: Contract) -> None:
    answer = litellm.without_key().get("/health/readiness")
    assert (answer.status, answer.body) == (200, {"status": "healthy", "db": "connected"})


def test_it_tells_its_version_to_the_admin_only(litellm: Contract) -> None:
    answer = litellm.api.get("/health/readiness/details")
    assert answer.status == 200
    assert answer.body["db"] == "connected"
    assert answer.body["litellm_version"].startswith("1.108.")
    assert litellm.without_key().get("/health/readiness/details").status == 401
    assert litellm.with_virtual_key([]).get("/health/readiness/details").status == 401


def test_it_lists_a_row_with_its_address_and_without_its_key(litellm: Contract) -> None:
    row_id, body = litellm.add()
    answer = litellm.api.get("/model/info")
    row = litellm.api.rows()[row_id]
    assert row["model_name"] == body["model_name"]
    assert row["litellm_params"]["model"] == "hosted_vllm/tiny"
    assert row["litellm_params"]["api_base"] == litellm.up
    assert row["model_info"]["db_model"] is True
    assert row["model_info"]["blocked"] is False
    assert "api_key" not in row["litellm_params"]
    assert BOX_KEY not in answer.text


def test_it_gives_unknown_model_info_back_as_written(litellm: Contract) -> None:
    body = litellm.row(llmao_params=["model", "api_base"], nested={"a": [1, None]}, number=1.5, empty=None)
    assert litellm.api.post("/model/new", body).status == 200
    info = litellm.api.rows()[body["model_info"]["id"]]["model_info"]
    assert info["llmao_key"] == "http://203.0.113.10:8003"
    assert info["asf_api_base"] == "http://203.0.113.10:40001"
    assert info["llmao_params"] == ["model", "api_base"]
    assert info["nested"] == {"a": [1, None]}
    assert (info["self_hosted"], info["number"]) == (True, 1.5)
    assert "empty" not in info  # a null is not kept


def test_it_drops_a_price_written_to_model_info(litellm: Contract) -> None:
    """A price counts only in litellm_params; from there it shows in model_info as well."""
    body = litellm.row(input_cost_per_token=1e-6, max_input_tokens=40960)
    assert litellm.api.post("/model/new", body).status == 200
    info = litellm.api.rows()[body["model_info"]["id"]]["model_info"]
    assert (info["input_cost_per_token"], info["max_input_tokens"]) == (None, 40960)

    row_id, _ = litellm.add(input_cost_per_token=3e-6, output_cost_per_token=4e-6)
    row = litellm.api.rows()[row_id]
    assert row["litellm_params"]["input_cost_per_token"] == 3e-6
    assert (row["model_info"]["input_cost_per_token"], row["model_info"]["output_cost_per_token"]) == (3e-6, 4e-6)


def test_it_marks_a_row_of_its_config_file(litellm: Contract) -> None:
    row = litellm.api.rows()[CONFIG_ROW]
    assert row["model_name"] == CONFIG_NAME
    assert row["model_info"]["db_model"] is False


def test_it_counts_and_cuts_the_paged_list(litellm: Contract) -> None:
    wanted = {litellm.add()[0] for _ in range(3)} | {CONFIG_ROW}
    pages = [litellm.api.get(f"/v2/model/info?page={page}&size=2").body for page in (1, 2, 3)]
    assert {page["total_count"] for page in pages} == {4}
    assert {page["total_pages"] for page in pages} == {2}
    assert [len(page["data"]) for page in pages] == [2, 2, 0]
    assert {row["model_info"]["id"] for page in pages for row in page["data"]} == wanted


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/model/info", None),
        ("GET", "/v2/model/info", None),
        ("GET", "/health", None),
        ("GET", f"/health?model_id={CONFIG_ROW}", None),
        ("GET", "/v1/models", None),
        ("POST", "/model/new", {"model_name": "x", "litellm_params": {"model": "hosted_vllm/x"}}),
        ("POST", "/model/delete", {"id": CONFIG_ROW}),
        ("POST", "/model/block", {"model_id": CONFIG_ROW}),
        ("PATCH", f"/model/{CONFIG_ROW}/update", {"model_name": "x"}),
        ("POST", "/v1/chat/completions", {"model": CONFIG_NAME, "messages": []}),
    ],
)
def test_it_refuses_a_missing_and_a_wrong_key(litellm: Contract, method: str, path: str, body: object) -> None:
    missing = litellm.without_key().ask(method, path, body)
    wrong = litellm.with_key("sk-wrong").ask(method, path, body)
    assert (missing.status, missing.message) == (401, "Authentication Error, No api key passed in.")
    assert (wrong.status, wrong.message) == (401, "Authentication Error, Invalid API key provided.")


def test_it_hides_rows_from_a_virtual_key_without_an_error(litellm: Contract) -> None:
    """The list is filtered and the status is 200: only another call can tell that the key is not the admin's."""
    row_id, body = litellm.add()
    other_id, _ = litellm.add()
    seen = litellm.with_virtual_key([body["model_name"]]).rows()
    assert row_id in seen
    assert other_id not in seen and CONFIG_ROW not in seen
    assert litellm.with_virtual_key(["no-such-model"]).rows() == {}
    assert {row_id, other_id, CONFIG_ROW} <= set(litellm.with_virtual_key([]).rows())


def test_it_refuses_writes_of_a_virtual_key(litellm: Contract) -> None:
    row_id, body = litellm.add()
    virtual = litellm.with_virtual_key([])
    assert virtual.post("/model/new", litellm.row()).status == 403
    assert virtual.patch(row_id, {"model_name": "taken-over"}).status == 403
    assert virtual.post("/model/delete", {"id": row_id}).status == 403
    assert virtual.post("/model/block", {"model_id": row_id}).status == 401
    assert litellm.api.rows()[row_id]["model_name"] == body["model_name"]
