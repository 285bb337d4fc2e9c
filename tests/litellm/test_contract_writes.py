"""What LiteLLM does with a row that is added, changed, blocked and deleted."""

from __future__ import annotations

from tests.litellm.api import eventually
from tests.litellm.conftest import BOX_KEY, CONFIG_NAME, CONFIG_ROW, NOTHING, Contract


def test_it_keeps_the_id_that_the_client_chose(litellm: Contract) -> None:
    body = litellm.row()
    answer = litellm.api.post("/model/new", body)
    assert answer.status == 200
    assert answer.body["model_id"] == body["model_info"]["id"]
    assert body["model_info"]["id"] in litellm.api.rows()


def test_it_answers_500_to_the_same_id_again(litellm: Contract) -> None:
    row_id, body = litellm.add()
    answer = litellm.api.post("/model/new", {**body, "model_name": "another"})
    assert answer.status == 500
    assert "Failed to add model to db" in answer.message
    assert litellm.api.rows()[row_id]["model_name"] == body["model_name"]


def test_it_saves_a_row_without_a_provider_and_answers_500(litellm: Contract) -> None:
    body = litellm.row()
    row_id = body["model_info"]["id"]
    body["litellm_params"]["model"] = "tiny"
    answer = litellm.api.post("/model/new", body)
    assert answer.status == 500
    assert answer.message.startswith("Model create was saved to the database, but the model id(s)")
    assert row_id in answer.message and "not live in this pod's router" in answer.message
    assert row_id not in litellm.api.rows()
    again = litellm.api.post("/model/new", body)
    assert again.status == 500
    assert "Failed to add model to db" in again.message


def test_it_lists_the_saved_row_once_its_model_is_mended(litellm: Contract) -> None:
    body = litellm.row()
    row_id = body["model_info"]["id"]
    body["litellm_params"]["model"] = "no-such-provider/tiny"
    assert litellm.api.post("/model/new", body).status == 500
    assert litellm.api.patch(row_id, {"litellm_params": {"model": "hosted_vllm/tiny"}}).status == 200
    assert litellm.api.rows()[row_id]["litellm_params"]["model"] == "hosted_vllm/tiny"


def test_it_goes_on_with_the_old_model_when_an_update_breaks_it(litellm: Contract) -> None:
    """200 all the same: only reading the row back shows that the new value is not in use."""
    row_id, _ = litellm.add()
    assert litellm.api.patch(row_id, {"litellm_params": {"model": "tiny"}}).status == 200
    assert litellm.api.rows()[row_id]["litellm_params"]["model"] == "hosted_vllm/tiny"


def test_it_merges_an_update_and_keeps_the_rest(litellm: Contract) -> None:
    row_id, body = litellm.add(api_base=NOTHING)
    assert litellm.api.health(row_id).status == 503
    change = {
        "litellm_params": {"api_base": litellm.up},
        "model_info": {"id": row_id, "asf_api_base": litellm.box.url, "llmao_body": "0123456789abcdef"},
    }
    assert litellm.api.patch(row_id, change).status == 200
    row = litellm.api.rows()[row_id]
    assert row["model_name"] == body["model_name"]
    assert row["litellm_params"]["api_base"] == litellm.up
    assert row["litellm_params"]["model"] == "hosted_vllm/tiny"
    assert row["model_info"]["asf_api_base"] == litellm.box.url
    assert row["model_info"]["llmao_body"] == "0123456789abcdef"
    assert row["model_info"]["llmao_key"] == "http://203.0.113.10:8003"
    assert row["model_info"]["self_hosted"] is True
    assert litellm.api.health(row_id).status == 200  # with the key that was stored at first


def test_it_keeps_the_id_when_an_update_names_none_or_another(litellm: Contract) -> None:
    row_id, _ = litellm.add()
    assert litellm.api.patch(row_id, {"model_info": {"asf_api_base": "http://203.0.113.10:40002"}}).status == 200
    assert litellm.api.patch(row_id, {"model_info": {"id": "llmao-another"}}).status == 200
    rows = litellm.api.rows()
    assert row_id in rows and "llmao-another" not in rows


def test_it_renames_by_an_update(litellm: Contract) -> None:
    row_id, body = litellm.add()
    assert litellm.api.patch(row_id, {"model_name": f"{body['model_name']}-new"}).status == 200
    assert litellm.api.rows()[row_id]["model_name"] == f"{body['model_name']}-new"
    assert litellm.api.complete(f"{body['model_name']}-new").status == 200
    assert litellm.api.complete(body["model_name"]).status == 400


def test_it_takes_a_new_key_by_an_update(litellm: Contract) -> None:
    row_id, _ = litellm.add(api_key="sk-vllm-old")
    assert litellm.api.health(row_id).status == 503
    assert litellm.api.patch(row_id, {"litellm_params": {"api_key": BOX_KEY}}).status == 200
    assert litellm.api.health(row_id).status == 200


def test_it_does_not_clear_a_field_by_null(litellm: Contract) -> None:
    row_id, _ = litellm.add(temperature=0.5)
    change = {"litellm_params": {"temperature": None}, "model_info": {"llmao_key": None}}
    assert litellm.api.patch(row_id, change).status == 200
    row = litellm.api.rows()[row_id]
    assert row["litellm_params"]["temperature"] == 0.5
    assert row["model_info"]["llmao_key"] == "http://203.0.113.10:8003"


def test_it_answers_404_to_an_update_of_an_unknown_id(litellm: Contract) -> None:
    answer = litellm.api.patch("llmao-unknown", {"model_name": "x"})
    assert (answer.status, answer.message) == (404, "Model llmao-unknown not found on proxy.")


def test_it_leaves_a_row_of_its_config_file_alone(litellm: Contract) -> None:
    answer = litellm.api.patch(CONFIG_ROW, {"model_name": "x"})
    assert answer.status == 400
    assert answer.message.startswith("Cannot edit config-based model.")
    assert litellm.api.post("/model/block", {"model_id": CONFIG_ROW}).status == 400
    deleted = litellm.api.post("/model/delete", {"id": CONFIG_ROW})
    assert deleted.status == 400 and "not found in db" in deleted.message
    assert litellm.api.rows()[CONFIG_ROW]["model_name"] == CONFIG_NAME


def test_it_deletes_once_and_then_answers_400(litellm: Contract) -> None:
    row_id, body = litellm.add()
    assert litellm.api.post("/model/delete", {"id": row_id}).status == 200
    assert row_id not in litellm.api.rows()
    assert litellm.api.complete(body["model_name"]).status == 400
    again = litellm.api.post("/model/delete", {"id": row_id})
    assert again.status == 400
    assert f"Model with id={row_id} not found in db" in again.message


def test_it_takes_a_deleted_id_again(litellm: Contract) -> None:
    row_id, body = litellm.add()
    assert litellm.api.post("/model/delete", {"id": row_id}).status == 200
    assert litellm.api.post("/model/new", body).status == 200
    assert row_id in litellm.api.rows()


def test_it_names_what_is_wrong_with_a_body(litellm: Contract) -> None:
    assert litellm.api.ask("POST", "/model/new", raw=b"{not json").status == 422
    assert litellm.api.post("/model/delete", {}).status == 422
    assert litellm.api.post("/model/block", {}).status == 422
    assert litellm.api.post("/model/new", {"model_name": "x"}).status == 500


def test_it_does_not_route_to_a_blocked_row(litellm: Contract) -> None:
    row_id, body = litellm.add()
    name = body["model_name"]
    assert litellm.api.post("/model/block", {"model_id": row_id}).status == 200
    assert litellm.api.rows()[row_id]["model_info"]["blocked"] is True
    refused = litellm.api.complete(name)
    assert refused.status == 403 and "Model is blocked" in refused.message
    assert name not in [each["id"] for each in litellm.api.get("/v1/models").body["data"]]
    assert litellm.api.health(row_id).status == 200  # a check goes through all the same

    assert litellm.api.post("/model/unblock", {"model_id": row_id}).status == 200
    assert litellm.api.rows()[row_id]["model_info"]["blocked"] is False
    assert litellm.api.complete(name).status == 200


def test_it_answers_404_to_blocking_an_unknown_id(litellm: Contract) -> None:
    assert litellm.api.post("/model/block", {"model_id": "llmao-unknown"}).status == 404
    assert litellm.api.post("/model/unblock", {"model_id": "llmao-unknown"}).status == 404


def test_it_shows_a_write_to_the_other_replica_late(litellm: Contract) -> None:
    seen_at_once = [litellm.add()[0] in litellm.replica.rows() for _ in range(5)]
    assert not all(seen_at_once)
    assert eventually(lambda: set(litellm.made) <= set(litellm.replica.rows()))

    moved = litellm.made[0]
    assert litellm.api.patch(moved, {"litellm_params": {"api_base": NOTHING}}).status == 200
    assert eventually(lambda: litellm.replica.rows()[moved]["litellm_params"]["api_base"] == NOTHING)

    assert litellm.api.post("/model/delete", {"id": moved}).status == 200
    assert moved not in litellm.api.rows()
    assert eventually(lambda: moved not in litellm.replica.rows())


def test_it_updates_a_row_that_this_replica_does_not_list_yet(litellm: Contract) -> None:
    """How a create of unknown outcome is finished: the same id again fails for ever, PATCH tells and mends."""
    row_id, body = litellm.add()
    assert litellm.replica.post("/model/new", body).status == 500
    assert litellm.replica.patch(row_id, body).status == 200
    assert row_id in litellm.replica.rows()


def test_it_deletes_a_row_that_this_replica_does_not_list_yet(litellm: Contract) -> None:
    row_id, _ = litellm.add()
    assert litellm.replica.post("/model/delete", {"id": row_id}).status == 200
    assert eventually(lambda: row_id not in litellm.api.rows())
    assert litellm.api.post("/model/delete", {"id": row_id}).status == 400
