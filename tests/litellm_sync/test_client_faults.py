"""What the client makes of a LiteLLM that is unwell, and of what stands in front of it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from litellm_sync.client import LiteLLM, LiteLLMError, Readiness, Refused, Unanswered, Unsure
from sim import litellm as sim
from sim.garbage import Fault, garbage_server
from sim.litellm import MASTER_KEY
from tests.litellm_sync.conftest import BOX_KEY, client_of
from tests.litellm_sync.raw import answer, raw_server

BODY = {"model_name": "a", "litellm_params": {"api_key": BOX_KEY}, "model_info": {"id": "llmao-1"}}
GOOD = {"data": [{"model_name": "a", "litellm_params": {}, "model_info": {"id": "llmao-1"}}]}


#: Read well: a number for a number's text, and 10 MB, which is less than the cap of a list (1,200 rows are as long).
READ_WELL = (Fault.NUMBERS_AS_TEXT, Fault.HUGE)


@pytest.mark.parametrize("fault", [each for each in Fault if each not in READ_WELL])
def test_it_never_reads_garbage_as_a_list(fault: Fault) -> None:
    began = time.monotonic()
    status = 503 if fault is Fault.STATUS else 200
    with garbage_server(fault, good=GOOD, status=status) as url, pytest.raises(LiteLLMError) as caught:
        LiteLLM(url, MASTER_KEY, 0.5).deployments()
    assert time.monotonic() - began < 5
    assert caught.value.message.startswith("LiteLLM ")
    assert MASTER_KEY not in caught.value.message


@pytest.mark.parametrize("fault", READ_WELL)
def test_it_reads_what_is_only_odd(fault: Fault) -> None:
    with garbage_server(fault, good=GOOD) as url:
        assert [row.id for row in LiteLLM(url, MASTER_KEY, 30).deployments()] == ["llmao-1"]


def test_it_bounds_a_list_that_drips() -> None:
    with raw_server(answer(200, GOOD), drip_s=0.05) as raw, pytest.raises(Unanswered) as caught:
        LiteLLM(raw.url, MASTER_KEY, 0.5).deployments()
    assert caught.value.message.endswith("did not answer within 0.5 s")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Refused), (403, Refused), (404, Refused), (422, Refused), (429, Refused), (500, Unsure), (503, Unsure)],
)
def test_it_tells_no_from_perhaps(status: int, kind: type[LiteLLMError]) -> None:
    with raw_server(answer(status, {"error": {"message": "not today"}})) as raw:
        client = LiteLLM(raw.url, MASTER_KEY, 5)
        for call in (lambda: client.create(BODY), lambda: client.patch("llmao-1", BODY), client.deployments):
            with pytest.raises(kind) as caught:
                call()
            assert caught.value.message.startswith(f"LiteLLM answers {status}: not today")


def test_it_is_refused_by_a_redirect() -> None:
    moved = answer(307, headers="Location: https://elsewhere.invalid/\r\n")
    with raw_server(moved) as raw, pytest.raises(Refused) as caught:
        LiteLLM(raw.url, MASTER_KEY, 5).create(BODY)
    assert "write the address that it redirects to into litellm.base_url" in caught.value.message
    assert len(raw.requests) == 1


def test_it_is_unsure_of_a_write_that_a_page_answers() -> None:
    with raw_server(answer(200, b"<html>Sign in</html>", kind="text/html")) as raw, pytest.raises(Unsure) as caught:
        LiteLLM(raw.url, MASTER_KEY, 5).create(BODY)
    assert caught.value.message == "LiteLLM answers 200 with a page (HTML)"


def test_it_repeats_no_secret_that_litellm_repeats() -> None:
    told = f"bad value '{BOX_KEY}' in api_key for key {MASTER_KEY}"
    with raw_server(answer(400, {"error": {"message": told}})) as raw, pytest.raises(Refused) as caught:
        LiteLLM(raw.url, MASTER_KEY, 5).create({**BODY, "litellm_params": {"api_key": "plain-words"}})
    assert BOX_KEY not in caught.value.message
    assert MASTER_KEY not in caught.value.message


def test_it_hides_the_key_that_it_sent_whatever_its_form() -> None:
    told = {"error": {"message": "cannot use plain-words here"}}
    with raw_server(answer(400, told)) as raw, pytest.raises(Refused) as caught:
        LiteLLM(raw.url, MASTER_KEY, 5).create({**BODY, "litellm_params": {"api_key": "plain-words"}})
    assert caught.value.message == "LiteLLM answers 400: cannot use ••• here"


def test_it_hides_the_secrets_that_it_was_told_of() -> None:
    """LiteLLM repeats the errors of providers, and providers the keys they were given, in any form."""
    told = "AuthenticationError: no account has the words plain-provider-words"
    body = {"healthy_endpoints": [], "unhealthy_endpoints": [{"model_id": "gpt", "error": told}]}
    with raw_server(answer(503, body), answer(400, {"error": {"message": told}})) as raw:
        client = LiteLLM(raw.url, MASTER_KEY, 5, secrets=["plain-provider-words"])
        opinion = client.health("gpt", api_base=None, asked_at=1.0)
        with pytest.raises(Refused) as caught:
            client.block("gpt")
    assert (opinion.state, opinion.detail) == ("down", "AuthenticationError: no account has the words •••")
    assert caught.value.message == "LiteLLM answers 400: AuthenticationError: no account has the words •••"


def test_it_does_not_take_every_400_on_delete_for_gone() -> None:
    told = {"error": {"message": "cannot delete a config model"}}
    with raw_server(answer(400, told)) as raw, pytest.raises(Refused):
        LiteLLM(raw.url, MASTER_KEY, 5).delete("llmao-1")


def test_it_escapes_an_id_in_a_path() -> None:
    with raw_server(answer(200, {})) as raw:
        LiteLLM(raw.url, MASTER_KEY, 5).patch("a/b ?c", BODY)
    assert raw.requests[0].startswith("PATCH /model/a%2Fb%20%3Fc/update HTTP/1.1")


def test_it_asks_an_old_litellm_where_it_tells() -> None:
    """Before there were /health/readiness/details, the open endpoint had the version too."""
    old = answer(200, {"status": "connected", "db": "connected", "litellm_version": "1.60.0"})
    with raw_server(answer(404, {"detail": "Not Found"}), old) as raw:
        ready = LiteLLM(raw.url, MASTER_KEY, 5).readiness()
    assert ready == Readiness(connected=True, version="1.60.0")
    assert [request.split()[1] for request in raw.requests] == ["/health/readiness/details", "/health/readiness"]


def test_it_sees_that_litellm_has_lost_its_database(standin: sim.LiteLLM) -> None:
    standin.store.connected = False
    ready = client_of(standin).readiness()
    assert (ready.connected, ready.detail) == (False, "its database is disconnected")


@pytest.mark.parametrize("body", [{"status": "healthy"}, {"status": "healthy", "db": None}, {"db": "Not connected"}])
def test_it_is_not_ready_unless_the_database_is_said_to_be_connected(body: Any) -> None:
    with raw_server(answer(200, body)) as raw:
        assert not LiteLLM(raw.url, MASTER_KEY, 5).readiness().connected


UP, DOWN = {"model_id": "llmao-1", "api_base": "http://203.0.113.10:1/v1"}, {"model_id": "llmao-1", "error": "x"}
OTHER = {"model_id": "llmao-2", "api_base": "http://203.0.113.10:1/v1"}
NO_ID = {"api_base": "http://203.0.113.10:1/v1/", "error": "refused\nstack trace: File secret.py"}


@pytest.mark.parametrize(
    ("status", "up", "down", "state"),
    [
        (200, [UP], [], "up"),
        (200, [UP, OTHER], [], "up"),
        (503, [], [DOWN], "down"),
        (200, [], [DOWN], "down"),
        (200, [OTHER], [DOWN], "down"),
        (200, [], [], "unknown"),
        (503, [], [], "unknown"),
        (200, [OTHER], [], "unknown"),
        (200, [UP], [DOWN], "unknown"),
        (503, [], [NO_ID], "down"),
        (200, [NO_ID], [], "up"),
        (200, [], [{"error": "no address"}], "unknown"),
        (404, [UP], [], "unknown"),
        (500, [], [DOWN], "unknown"),
        (401, [], [DOWN], "unknown"),
        (200, None, [DOWN], "unknown"),
        (200, [UP], None, "unknown"),
        (200, ["text"], [], "unknown"),
        (503, {"a": 1}, [], "unknown"),
    ],
)
def test_it_reads_an_opinion_only_where_there_is_one(status: int, up: Any, down: Any, state: str) -> None:
    body = {"healthy_endpoints": up, "unhealthy_endpoints": down, "healthy_count": 0}
    with raw_server(answer(status, body)) as raw:
        opinion = LiteLLM(raw.url, MASTER_KEY, 5).health("llmao-1", api_base="http://203.0.113.10:1", asked_at=1.0)
    assert opinion.state == state
    assert state == "up" or opinion.detail
    assert "\n" not in opinion.detail
    assert "secret.py" not in opinion.detail


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize("fault", list(Fault))
def test_it_has_no_opinion_from_garbage(fault: Fault, status: int) -> None:
    good = {"healthy_endpoints": [OTHER], "unhealthy_endpoints": [OTHER]}
    began = time.monotonic()
    with garbage_server(fault, good=good, status=status) as url:
        opinion = LiteLLM(url, MASTER_KEY, 0.5).health("llmao-1", api_base=None, asked_at=1.0)
    assert time.monotonic() - began < 5
    assert opinion.state == "unknown"
    assert opinion.detail


@pytest.mark.parametrize(("status", "cached"), [(400, 0.0), (404, 0.0)])
def test_it_takes_a_setting_that_is_not_told_for_none(status: int, cached: float) -> None:
    """404: a version that does not know the question."""
    with raw_server(answer(status, {"detail": {"error": "Field name=x is not set"}})) as raw:
        assert LiteLLM(raw.url, MASTER_KEY, 5).cached_s() == cached


@pytest.mark.parametrize(("value", "cached"), [(True, 420.0), ("True", 420.0), (False, 0.0), (None, 0.0), ([], 0.0)])
def test_it_reads_the_setting_in_any_spelling(value: Any, cached: float) -> None:
    with raw_server(answer(200, {"field_value": value}), answer(400)) as raw:
        assert LiteLLM(raw.url, MASTER_KEY, 5).cached_s() == cached


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [(401, {}, Refused), (500, {}, Unsure), (200, [], Unsure), (200, b"<html>", Unsure), (302, b"", Refused)],
)
def test_it_never_guesses_how_old_an_answer_is(status: int, body: Any, kind: type[LiteLLMError]) -> None:
    with raw_server(answer(status, body)) as raw, pytest.raises(kind):
        LiteLLM(raw.url, MASTER_KEY, 5).cached_s()


@pytest.mark.parametrize("status", [401, 404, 429, 500, 502])
def test_it_never_takes_a_refusal_for_a_whole_list(status: int) -> None:
    with raw_server(answer(status, {"healthy_endpoints": [], "unhealthy_endpoints": []})) as raw:
        with pytest.raises(LiteLLMError) as caught:
            LiteLLM(raw.url, MASTER_KEY, 5).health_of_all({}, asked_at=1.0, timeout_s=5)
        assert caught.value.message.startswith(f"LiteLLM answers {status}")


def test_it_reads_a_long_list_of_dead_rows() -> None:
    """Each brings a stack trace of 1.6 KB: 5,000 of them are twice what any other answer may be."""
    error = "no\nTraceback (most recent call last):" + "x" * 1600
    down = [{"model_id": f"llmao-{number}", "error": error} for number in range(5000)]
    with raw_server(answer(200, {"healthy_endpoints": [], "unhealthy_endpoints": down})) as raw:
        told = LiteLLM(raw.url, MASTER_KEY, 5).health_of_all(None, asked_at=1.0, timeout_s=20)
    assert len(told) == 5000
    assert {(each.state, each.detail) for each in told} == {("down", "no")}
