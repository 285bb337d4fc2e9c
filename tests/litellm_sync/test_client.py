from __future__ import annotations

import logging

import pytest

from litellm_sync.bodies import reveal
from litellm_sync.client import LiteLLM, Refused, Unanswered, Unsure
from reconcile.identity import Key, deployment_id
from sim import litellm as sim
from sim.background import LoopThread
from sim.litellm import MASTER_KEY
from sim.vllm import Listener
from tests.litellm.api import Api
from tests.litellm_sync.conftest import BOX_KEY, KEY, SECRETS, body, client_of, row_of

IDENTIFIER = deployment_id(KEY)
URL, OTHER_URL = "http://203.0.113.10:40001", "http://203.0.113.10:40002"
SENT = reveal(body(KEY, URL), SECRETS)
NOTHING = "http://127.0.0.1:1"


def test_it_reads_back_what_it_created(litellm: LiteLLM) -> None:
    litellm.create(SENT)
    row = row_of(litellm)
    assert row is not None
    assert (row.name, row.model, row.api_base) == ("qwen3-8b", "hosted_vllm/tiny", f"{URL}/v1")
    assert (row.llmao_key, row.asf_api_base, row.llmao_body) == (KEY.url, URL, "0123456789abcdef")
    assert row.llmao_params == ("api_base", "api_key", "model")
    assert (row.db_model, row.blocked) == (True, False)


def test_it_is_unsure_of_a_second_create_of_one_id(litellm: LiteLLM) -> None:
    litellm.create(SENT)
    with pytest.raises(Unsure) as caught:
        litellm.create(SENT)
    assert caught.value.message.startswith("LiteLLM answers 500: Failed to add model to db.")


def test_it_patches_the_address_and_keeps_the_stamp(litellm: LiteLLM, api: Api) -> None:
    litellm.create(SENT)
    litellm.patch(IDENTIFIER, reveal(body(KEY, OTHER_URL), SECRETS))
    row = row_of(litellm)
    assert row is not None
    assert (row.api_base, row.asf_api_base) == (f"{OTHER_URL}/v1", OTHER_URL)
    assert row.llmao_key == KEY.url
    assert list(api.rows()) == [IDENTIFIER]


def test_it_patches_one_field_and_keeps_the_id_and_the_rest(litellm: LiteLLM) -> None:
    litellm.create(SENT)
    before = row_of(litellm)
    litellm.patch(IDENTIFIER, {"model_info": {"llmao_key": "http://203.0.113.10:9000"}})
    row = row_of(litellm)
    assert row is not None
    assert before is not None
    assert row.llmao_key == "http://203.0.113.10:9000"
    assert (row.id, row.asf_api_base, row.api_base) == (before.id, before.asf_api_base, before.api_base)


def test_it_is_refused_a_patch_of_an_unknown_id(litellm: LiteLLM) -> None:
    with pytest.raises(Refused) as caught:
        litellm.patch("llmao-nobody", SENT)
    assert (caught.value.status, caught.value.permanent) == (404, False)
    assert caught.value.message == "LiteLLM answers 404: Model llmao-nobody not found on proxy."


def test_it_deletes_and_takes_gone_for_deleted(litellm: LiteLLM) -> None:
    litellm.create(SENT)
    litellm.delete(IDENTIFIER)
    assert litellm.deployments() == ()
    litellm.delete(IDENTIFIER)


def test_it_blocks_and_unblocks(litellm: LiteLLM) -> None:
    litellm.create(SENT)
    litellm.block(IDENTIFIER)
    assert [row.blocked for row in litellm.deployments()] == [True]
    litellm.unblock(IDENTIFIER)
    assert [row.blocked for row in litellm.deployments()] == [False]


def test_it_is_refused_for_ever_a_model_without_a_provider(litellm: LiteLLM) -> None:
    key = Key(KEY.url, "no-provider")
    sent = reveal(body(key, URL, model="no-provider"), SECRETS)
    with pytest.raises(Refused) as caught:
        litellm.create(sent)
    assert caught.value.permanent
    assert caught.value.message.startswith("LiteLLM answers 500: Model create was saved to the database, but")
    assert litellm.deployments() == ()
    litellm.delete(deployment_id(key))


@pytest.mark.parametrize("key", ["sk-wrong-key-0123456789", ""])
def test_it_is_told_that_the_key_is_wrong(litellm: LiteLLM, proxy_url: str, key: str) -> None:
    stranger = LiteLLM(proxy_url, key, 30)
    for call in (stranger.deployments, stranger.readiness, lambda: stranger.create(SENT)):
        with pytest.raises(Refused) as caught:
            call()
        assert caught.value.status == 401
        assert caught.value.message.endswith("(litellm.master_key must be LiteLLM's own master key)")
        assert not key or key not in caught.value.message


def test_it_finds_a_virtual_key_out(litellm: LiteLLM, api: Api, proxy_url: str) -> None:
    """/model/info answers a virtual key with a filtered list: only the readiness tells."""
    key = api.post("/key/generate", {"models": ["another"]}).body["key"]
    litellm.create(SENT)
    assert LiteLLM(proxy_url, key, 30).deployments() == ()
    with pytest.raises(Refused):
        LiteLLM(proxy_url, key, 30).readiness()


def test_it_reads_readiness_and_version(litellm: LiteLLM) -> None:
    ready = litellm.readiness()
    assert (ready.connected, ready.version, ready.detail) == (True, "1.108.7", "")


def test_it_hears_that_a_row_is_up(litellm: LiteLLM, box: Listener) -> None:
    litellm.create(reveal(body(KEY, box.url), SECRETS))
    opinion = litellm.health(IDENTIFIER, api_base=None, asked_at=1000.5)
    assert (opinion.state, opinion.id, opinion.asked_at) == ("up", IDENTIFIER, 1000.5)
    assert (opinion.api_base, opinion.detail) == (f"{box.url}/v1", "")


def test_it_hears_that_a_row_is_down_in_one_line(litellm: LiteLLM) -> None:
    litellm.create(reveal(body(KEY, NOTHING), SECRETS))
    opinion = litellm.health(IDENTIFIER, api_base=None, asked_at=1000.5)
    assert opinion.state == "down"
    assert "127.0.0.1" in opinion.detail
    assert "\n" not in opinion.detail
    assert "Traceback" not in opinion.detail
    assert BOX_KEY not in opinion.detail


def test_it_hears_nothing_of_a_row_that_is_not_listed(litellm: LiteLLM) -> None:
    opinion = litellm.health("llmao-nobody", api_base=None, asked_at=1.0)
    assert (opinion.state, opinion.detail) == ("unknown", "LiteLLM answers 404: Model with ID llmao-nobody not found")


def test_it_hears_nothing_from_a_proxy_that_is_away() -> None:
    opinion = LiteLLM(NOTHING, MASTER_KEY, 1).health(IDENTIFIER, api_base=None, asked_at=1.0)
    assert (opinion.state, opinion.detail) == ("unknown", "LiteLLM at 127.0.0.1:1 refuses the connection")


def test_it_hears_of_all_rows_at_once(litellm: LiteLLM, box: Listener) -> None:
    other = Key("http://203.0.113.11:8003", "qwen3-8b")
    litellm.create(reveal(body(KEY, box.url), SECRETS))
    litellm.create(reveal(body(other, NOTHING), SECRETS))
    rows = {row.id: row.api_base for row in litellm.deployments()}
    told = {each.id: each for each in litellm.health_of_all(rows, asked_at=1000.5, timeout_s=30)}
    assert {name: each.state for name, each in told.items()} == {IDENTIFIER: "up", deployment_id(other): "down"}
    assert {each.asked_at for each in told.values()} == {1000.5}
    detail = told[deployment_id(other)].detail
    assert "127.0.0.1" in detail
    assert "\n" not in detail
    assert BOX_KEY not in detail


def test_it_hears_of_no_row_that_is_not_listed(litellm: LiteLLM, box: Listener) -> None:
    """The real proxy's list goes on naming a row for a while after its deletion."""
    litellm.create(reveal(body(KEY, box.url), SECRETS))
    litellm.delete(IDENTIFIER)
    assert litellm.health_of_all({}, asked_at=1.0, timeout_s=30) == ()


def test_it_is_unsure_of_a_check_of_no_row_at_all(standin: sim.LiteLLM) -> None:
    with pytest.raises(Unsure) as caught:
        client_of(standin).health_of_all({IDENTIFIER: None}, asked_at=1.0, timeout_s=30)
    assert caught.value.message == "LiteLLM answers /health with a health check of none of its 1 rows"


def test_it_tests_a_row_in_earnest(litellm: LiteLLM, box: Listener) -> None:
    litellm.create(reveal(body(KEY, box.url), SECRETS))
    base = f"{box.url}/v1"
    up = litellm.test(IDENTIFIER, api_base=base, asked_at=1000.5)
    assert (up.state, up.api_base, up.asked_at, up.detail) == ("up", base, 1000.5, "")
    litellm.patch(IDENTIFIER, {"litellm_params": {"api_base": f"{NOTHING}/v1"}})
    down = litellm.test(IDENTIFIER, api_base=f"{NOTHING}/v1", asked_at=1.0)
    assert (down.state, "Traceback" in down.detail, "\n" in down.detail) == ("down", False, False)
    assert litellm.test(IDENTIFIER, api_base=base, asked_at=1.0).state == "unknown", "another address than the row's"
    assert litellm.test("llmao-nobody", api_base=None, asked_at=1.0).state == "unknown"
    assert LiteLLM(NOTHING, MASTER_KEY, 1).test(IDENTIFIER, api_base=None, asked_at=1.0).state == "unknown"


def test_it_is_answered_now_where_litellm_checks_when_it_is_asked(litellm: LiteLLM) -> None:
    assert litellm.cached_s() == 0.0


@pytest.mark.parametrize(
    ("told", "cached_s"), [(20, 140.0), (None, 420.0)], ids=["an interval of 20 s", "LiteLLM's own interval"]
)
def test_it_knows_how_old_a_cached_answer_may_be(background: LoopThread, told: int | None, cached_s: float) -> None:
    proxy = sim.LiteLLM(background_s=60, told_background_s=told)
    background.run(proxy.start())
    assert client_of(proxy).cached_s() == cached_s
    background.run(proxy.stop())


def test_it_says_that_nobody_answers() -> None:
    with pytest.raises(Unanswered) as caught:
        LiteLLM(NOTHING, MASTER_KEY, 1).deployments()
    assert caught.value.message == "LiteLLM at 127.0.0.1:1 refuses the connection"


def test_it_logs_no_body(litellm: LiteLLM, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        litellm.create(SENT)
        litellm.deployments()
    assert BOX_KEY not in caplog.text
    assert MASTER_KEY not in caplog.text
