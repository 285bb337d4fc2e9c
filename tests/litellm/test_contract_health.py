"""LiteLLM's second opinion on a row, and the completions that its callers make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.garbage import Fault, garbage_server
from tests.litellm.conftest import CONFIG_ROW, NOTHING, Contract


@pytest.fixture
def silent() -> Iterator[str]:
    with garbage_server(Fault.SILENT) as url:
        yield f"{url}/v1"


def test_it_says_up_after_a_real_completion(litellm: Contract) -> None:
    row_id, _ = litellm.add()
    before = litellm.box.server.requests["/v1/chat/completions"]
    answer = litellm.api.health(row_id)
    assert answer.status == 200
    assert answer.body["healthy_endpoints"] == [
        {"api_base": litellm.up, "model": "hosted_vllm/tiny", "model_id": row_id}
    ]
    assert (answer.body["unhealthy_endpoints"], answer.body["unhealthy_count"]) == ([], 0)
    assert litellm.box.server.requests["/v1/chat/completions"] == before + 1


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"api_base": NOTHING}, 500),
        ({"api_key": "sk-vllm-another"}, 401),
        ({"model": "hosted_vllm/another"}, 404),
    ],
)
def test_it_says_down_with_503_and_the_usual_body(litellm: Contract, params: dict[str, str], status: int) -> None:
    row_id, body = litellm.add(**params)
    answer = litellm.api.health(row_id)
    assert answer.status == 503
    assert answer.body["healthy_endpoints"] == []
    (entry,) = answer.body["unhealthy_endpoints"]
    assert entry["model_id"] == row_id
    assert entry["api_base"] == body["litellm_params"]["api_base"]
    assert entry["exception_status"] == status
    assert entry["error"].startswith("litellm.")
    assert "Traceback" in entry["error"]  # never to be kept beyond its first line


@pytest.mark.parametrize("fault", [Fault.HTML, Fault.EMPTY, Fault.NULL_LISTS])
def test_it_says_down_when_a_200_is_no_completion(litellm: Contract, fault: Fault) -> None:
    with garbage_server(fault, good={"object": "chat.completion", "choices": []}) as url:
        row_id, _ = litellm.add(api_base=f"{url}/v1")
        answer = litellm.api.health(row_id)
    assert answer.status == 503
    assert answer.body["unhealthy_count"] == 1


def test_it_stops_waiting_after_the_row_s_own_timeout(litellm: Contract, silent: str) -> None:
    row_id, _ = litellm.add(api_base=silent)
    answer = litellm.api.health(row_id)
    assert answer.status == 503
    (entry,) = answer.body["unhealthy_endpoints"]
    assert (entry["error"], entry["exception_status"]) == ("Timeout exceeded", 408)


def test_it_answers_404_to_the_health_of_an_unknown_id(litellm: Contract) -> None:
    answer = litellm.api.health("llmao-unknown")
    assert answer.status == 404
    assert answer.body == {"detail": {"error": "Model with ID llmao-unknown not found"}}


def test_it_checks_the_rows_of_one_name(litellm: Contract) -> None:
    row_id, body = litellm.add()
    answer = litellm.api.get(f"/health?model={body['model_name']}")
    assert answer.status == 200
    assert [entry["model_id"] for entry in answer.body["healthy_endpoints"]] == [row_id]
    nothing = litellm.api.get("/health?model=no-such-model")
    assert nothing.status == 503
    assert (nothing.body["healthy_endpoints"], nothing.body["unhealthy_endpoints"]) == ([], [])


def test_it_answers_200_for_the_whole_list_with_rows_down(litellm: Contract) -> None:
    up, _ = litellm.add()
    down, _ = litellm.add(api_base=NOTHING)
    answer = litellm.api.get("/health")
    assert answer.status == 200
    assert {entry["model_id"] for entry in answer.body["healthy_endpoints"]} == {up, CONFIG_ROW}
    assert {entry["model_id"] for entry in answer.body["unhealthy_endpoints"]} == {down}
    assert (answer.body["healthy_count"], answer.body["unhealthy_count"]) == (2, 1)


def test_it_does_not_check_in_the_background_unless_it_says_so(litellm: Contract) -> None:
    for name in ("background_health_checks", "health_check_interval"):
        answer = litellm.api.get(f"/config/field/info?field_name={name}")
        assert (answer.status, answer.message) == (400, f"{{'error': 'Field name={name} is not set'}}")
        stranger = litellm.with_virtual_key([]).get(f"/config/field/info?field_name={name}")
        assert stranger.status in (400, 401, 403)


def test_it_checks_a_blocked_row_as_any_other(litellm: Contract) -> None:
    """So the whole list costs a completion for each row that is listed."""
    row_id, _ = litellm.add()
    assert litellm.api.post("/model/block", {"model_id": row_id}).status == 200
    assert litellm.api.health(row_id).status == 200
    assert row_id in {entry["model_id"] for entry in litellm.api.get("/health").body["healthy_endpoints"]}


def test_it_tests_the_connection_of_one_row(litellm: Contract) -> None:
    row_id, _ = litellm.add()
    before = litellm.box.server.requests["/v1/chat/completions"]
    answer = litellm.api.test_connection(row_id)
    assert (answer.status, answer.body["status"]) == (200, "success")
    assert answer.body["result"] == {"api_base": litellm.up, "model": "hosted_vllm/tiny"}
    assert litellm.box.server.requests["/v1/chat/completions"] == before + 1


@pytest.mark.parametrize("params", [{"api_base": NOTHING}, {"api_key": "sk-vllm-another"}])
def test_it_answers_200_to_the_test_of_a_dead_connection(litellm: Contract, params: dict[str, str]) -> None:
    row_id, body = litellm.add(**params)
    answer = litellm.api.test_connection(row_id)
    assert (answer.status, answer.body["status"]) == (200, "error")
    assert answer.body["result"]["api_base"] == body["litellm_params"]["api_base"]
    assert "Traceback" in answer.body["result"]["error"]
    assert "model_id" not in answer.body["result"]


def test_it_answers_500_to_the_test_of_an_unknown_id(litellm: Contract) -> None:
    answer = litellm.api.test_connection("llmao-unknown")
    assert (answer.status, answer.body) == (500, {"detail": {"error": "Failed to test connection: 'model'"}})


def test_it_lets_the_admin_alone_test_a_connection(litellm: Contract) -> None:
    row_id, _ = litellm.add()
    assert litellm.with_virtual_key([]).test_connection(row_id).status in (400, 401, 403)


def test_it_routes_a_completion_to_the_box_under_the_public_name(litellm: Contract) -> None:
    _, body = litellm.add()
    answer = litellm.api.complete(body["model_name"])
    assert answer.status == 200
    assert answer.body["model"] == body["model_name"]
    assert answer.body["choices"][0]["message"]["content"] == "Hello from tiny."


def test_it_answers_400_to_a_name_that_no_row_has(litellm: Contract) -> None:
    answer = litellm.api.complete("no-such-model")
    assert answer.status == 400
    assert "Invalid model name passed in model=no-such-model" in answer.message


def test_it_passes_the_error_of_a_dead_box_on(litellm: Contract) -> None:
    _, body = litellm.add(api_base=NOTHING)
    answer = litellm.api.complete(body["model_name"])
    assert answer.status == 500
    assert "Cannot connect to host" in answer.message
