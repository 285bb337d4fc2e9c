from __future__ import annotations

import logging

import pytest

from litellm_sync.client import LiteLLM
from litellm_sync.executor import Batch, Unrecorded, carry_out
from reconcile.identity import Key, deployment_id
from reconcile.view import Action
from sim import litellm as sim
from sim.litellm import Fault
from tests.litellm.api import Api
from tests.litellm_sync.conftest import BOX_KEY, HASH, KEY, SECRETS, Notes, action, body, client_of, row_of

URL, OTHER_URL = "http://203.0.113.10:40001", "http://203.0.113.10:40002"
ADD = action("add_litellm", after=body(KEY, URL))
UPDATE = action("update_litellm", after=body(KEY, OTHER_URL))
DELETE = action("delete_litellm")
KEYS = [Key(f"http://203.0.113.{n}:8000", "qwen3-8b") for n in range(1, 6)]


def run(client: LiteLLM, *actions: object, notes: Notes | None = None, limit: int = 20, leases: int = 99) -> Batch:
    """Carry the actions out while the lease can be renewed `leases` times."""
    left = iter([True] * leases)
    return carry_out(
        actions,  # type: ignore[arg-type]  # only actions are given
        client, SECRETS, notes or Notes(), may_write=lambda: next(left, False), limit=limit,
    )  # fmt: skip


# --- on the stand-in and on the real proxy --------------------------------------------------------------------------


def test_it_adds_with_the_secret_put_in(litellm: LiteLLM, api: Api) -> None:
    notes = Notes()
    assert run(litellm, ADD, notes=notes) == Batch(sent=1)
    assert [(phase, kind) for phase, kind, _ in notes.said] == [("begin", "add_litellm"), ("finish", "add_litellm")]
    assert notes.answers == ["ok"]
    row = row_of(litellm)
    assert row is not None
    assert (row.api_base, row.llmao_key) == (f"{URL}/v1", KEY.url)


def test_it_finishes_an_add_of_a_row_that_is_there(litellm: LiteLLM, api: Api) -> None:
    run(litellm, ADD)
    notes = Notes()
    again = action("add_litellm", after=body(KEY, OTHER_URL))
    assert run(litellm, again, notes=notes) == Batch(sent=1)
    assert notes.answers == ["ok"]
    assert notes.outcomes[0].detail.startswith("saved all the same (LiteLLM answers 500: Failed to add model to db")
    assert list(api.rows()) == [deployment_id(KEY)]
    row = row_of(litellm)
    assert row is not None
    assert row.api_base == f"{OTHER_URL}/v1"


def test_it_resumes_a_create_that_had_been_saved(litellm: LiteLLM) -> None:
    run(litellm, ADD)
    notes = Notes()
    run(litellm, action("add_litellm", after=body(KEY, OTHER_URL), resume=True), notes=notes)
    assert [(outcome.answer, outcome.detail) for outcome in notes.outcomes] == [
        ("ok", "an earlier create had been saved")
    ]
    row = row_of(litellm)
    assert row is not None
    assert row.asf_api_base == OTHER_URL


def test_it_resumes_a_create_that_had_not_been_saved(litellm: LiteLLM) -> None:
    notes = Notes()
    run(litellm, action("add_litellm", after=body(KEY, URL), resume=True), notes=notes)
    assert notes.answers == ["ok"]
    assert row_of(litellm) is not None


def test_it_updates_the_address_and_keeps_the_stamp(litellm: LiteLLM) -> None:
    notes = Notes()
    run(litellm, ADD, UPDATE, notes=notes)
    assert notes.answers == ["ok", "ok"]
    row = row_of(litellm)
    assert row is not None
    assert (row.api_base, row.asf_api_base, row.llmao_key) == (f"{OTHER_URL}/v1", OTHER_URL, KEY.url)


def test_it_deletes_twice_and_both_are_right(litellm: LiteLLM) -> None:
    notes = Notes()
    run(litellm, ADD, DELETE, action("prune_orphan"), notes=notes)
    assert notes.answers == ["ok", "ok", "ok"]
    assert litellm.deployments() == ()


def test_it_blocks_and_unblocks(litellm: LiteLLM) -> None:
    run(litellm, ADD, action("block"))
    assert [row.blocked for row in litellm.deployments()] == [True]
    run(litellm, action("unblock"))
    assert [row.blocked for row in litellm.deployments()] == [False]


def test_it_is_refused_an_update_of_a_row_that_is_gone(litellm: LiteLLM) -> None:
    notes = Notes()
    assert run(litellm, UPDATE, notes=notes) == Batch(sent=1)
    assert [(outcome.answer, outcome.permanent) for outcome in notes.outcomes] == [("refused", False)]


def test_it_reports_a_row_that_was_saved_and_cannot_be_served(litellm: LiteLLM) -> None:
    notes = Notes()
    bare = action("add_litellm", after=body(KEY, URL, model="no-provider"))
    assert run(litellm, bare, notes=notes) == Batch(sent=1)
    (outcome,) = notes.outcomes
    assert (outcome.answer, outcome.permanent) == ("refused", True)
    assert "not live in this pod's router" in outcome.detail
    notes = Notes()
    run(litellm, ADD, notes=notes)
    assert notes.answers == ["ok"], "the corrected body finds the saved row and mends it"
    assert row_of(litellm) is not None


def test_it_is_refused_by_a_wrong_key(proxy_url: str) -> None:
    notes = Notes()
    assert run(LiteLLM(proxy_url, "sk-wrong", 30), ADD, notes=notes) == Batch(sent=1)
    assert notes.answers == ["refused"]


# --- faults: on the stand-in ------------------------------------------------------------------------------------------


def test_it_notes_each_write_before_it_is_sent(standin: sim.LiteLLM) -> None:
    notes = Notes(proxy=standin)
    adds = [action("add_litellm", key, body(key, URL)) for key in KEYS]
    run(client_of(standin), *adds, notes=notes)
    assert notes.writes_before == [0, 1, 2, 3, 4]
    assert [phase for phase, _, _ in notes.said] == ["begin", "finish"] * 5


def test_it_sends_only_what_is_ready_and_no_more_than_the_limit(standin: sim.LiteLLM) -> None:
    adds = [action("add_litellm", key, body(key, URL)) for key in KEYS]
    waiting = [action("add_litellm", KEY, body(KEY, URL), status=status) for status in ("held", "settling", "parked")]
    assert run(client_of(standin), *waiting, *adds, limit=3) == Batch(sent=3)
    assert list(standin.rows()) == [deployment_id(key) for key in KEYS[:3]]


def test_it_puts_the_api_key_into_what_is_sent_and_into_nothing_else(
    standin: sim.LiteLLM, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    with caplog.at_level(logging.DEBUG):
        run(client_of(standin), ADD, notes=notes)
    assert standin.rows()[deployment_id(KEY)].litellm_params["api_key"] == BOX_KEY
    assert BOX_KEY not in caplog.text + repr(notes)
    assert "litellm_write kind=add_litellm name=203.0.113.10:8003/qwen3-8b" in caplog.text


def test_it_takes_a_500_for_no_answer_and_asks_by_patch(standin: sim.LiteLLM) -> None:
    standin.faults = [Fault("/model/new", status=500, text="boom", after=True)]
    notes = Notes()
    assert run(client_of(standin), ADD, notes=notes) == Batch(sent=1)
    assert notes.answers == ["ok"]
    assert [(call.method, call.status) for call in standin.writes] == [("POST", 500), ("PATCH", 200)]


def test_it_is_refused_with_the_first_sentence_when_nothing_was_saved(standin: sim.LiteLLM) -> None:
    standin.faults = [Fault("/model/new", status=503, text="boom")]
    notes = Notes()
    adds = [action("add_litellm", key, body(key, URL)) for key in KEYS[:2]]
    assert run(client_of(standin), *adds, notes=notes) == Batch(sent=2)
    assert [(each.answer, each.detail) for each in notes.outcomes] == [("refused", "LiteLLM answers 503: boom")] * 2
    assert standin.rows() == {}


def test_it_does_not_know_when_the_patch_fails_too(standin: sim.LiteLLM) -> None:
    standin.faults = [Fault("/model/", status=500, text="boom")]
    notes = Notes()
    assert run(client_of(standin), ADD, notes=notes) == Batch(sent=1)
    assert notes.answers == ["unknown"]
    assert [call.method for call in standin.writes] == ["POST", "PATCH"]


@pytest.mark.parametrize("kind", ["update_litellm", "delete_litellm", "block"])
def test_it_does_not_know_after_a_500_of_another_write(standin: sim.LiteLLM, kind: str) -> None:
    standin.faults = [Fault("/model/", status=502, text="boom")]
    notes = Notes()
    acts = [action(kind, key, body(key, URL)) for key in KEYS[:2]]  # type: ignore[arg-type]  # one of Kind
    assert run(client_of(standin), *acts, notes=notes) == Batch(sent=2)
    assert notes.answers == ["unknown", "unknown"]
    assert len(standin.writes) == 2


def test_it_stops_at_the_first_timeout_and_leaves_the_row_to_the_next_pass(standin: sim.LiteLLM) -> None:
    standin.faults = [Fault("/model/new", delay_s=5, after=True, times=1)]
    notes = Notes()
    adds = [action("add_litellm", key, body(key, URL)) for key in KEYS[:3]]
    client = client_of(standin, timeout_s=0.5)
    assert run(client, *adds, notes=notes) == Batch(sent=1, stopped="unanswered")
    assert notes.answers == ["unknown"]
    assert notes.outcomes[0].detail.endswith("did not answer within 0.5 s")
    assert list(standin.rows()) == [deployment_id(KEYS[0])]

    resumed = action("add_litellm", KEYS[0], body(KEYS[0], URL), resume=True)
    notes = Notes()
    assert run(client, resumed, *adds[1:], notes=notes) == Batch(sent=3)
    assert notes.answers == ["ok", "ok", "ok"]
    assert list(standin.rows()) == [deployment_id(key) for key in KEYS[:3]]


def test_it_stops_when_nobody_answers(standin: sim.LiteLLM) -> None:
    client = LiteLLM("http://127.0.0.1:1", sim.MASTER_KEY, 5)
    notes = Notes()
    assert run(client, ADD, UPDATE, notes=notes) == Batch(sent=1, stopped="unanswered")
    assert [(each.answer, each.detail) for each in notes.outcomes] == [
        ("unsent", "LiteLLM at 127.0.0.1:1 refuses the connection")
    ]


def test_it_writes_nothing_without_the_lease(standin: sim.LiteLLM) -> None:
    notes = Notes()
    assert run(client_of(standin), ADD, notes=notes, leases=0) == Batch(sent=0, stopped="lease_lost")
    assert notes.said == []
    assert standin.calls == []


def test_it_renews_the_lease_before_every_single_write(standin: sim.LiteLLM) -> None:
    adds = [action("add_litellm", key, body(key, URL)) for key in KEYS]
    notes = Notes()
    assert run(client_of(standin), *adds, notes=notes, leases=2) == Batch(sent=2, stopped="lease_lost")
    assert len(standin.writes) == 2


@pytest.mark.parametrize(("resume", "first"), [(False, "POST"), (True, "PATCH")])
def test_it_does_not_finish_a_create_once_the_lease_is_lost(standin: sim.LiteLLM, resume: bool, first: str) -> None:
    standin.faults = [Fault("/model/new", status=500, text="boom")]
    notes = Notes()
    add = action("add_litellm", after=body(KEY, URL), resume=resume)
    assert run(client_of(standin), add, notes=notes, leases=1) == Batch(sent=1, stopped="lease_lost")
    assert notes.answers == ["unknown"]
    assert [call.method for call in standin.writes] == [first]


def test_it_refuses_to_send_a_body_whose_secret_is_gone(standin: sim.LiteLLM) -> None:
    notes = Notes()
    stranger = body(KEY, URL)
    stranger["litellm_params"]["api_key"] = {"secret": "b" * 32}
    acts = [action("add_litellm", after=stranger), action("add_litellm", KEYS[0], body(KEYS[0], URL))]
    assert run(client_of(standin), *acts, notes=notes) == Batch(sent=2)
    assert notes.answers == ["refused", "ok"]
    assert "litellm_params.api_key is a secret that config.yaml" in notes.outcomes[0].detail
    assert list(standin.rows()) == [deployment_id(KEYS[0])]


def test_it_keeps_no_secret_that_litellm_repeats(standin: sim.LiteLLM) -> None:
    odd = {HASH: "no-form-of-a-key"}
    standin.faults = [Fault("/model/new", status=400, text="what is no-form-of-a-key?")]
    notes = Notes()
    carry_out([ADD], client_of(standin), odd, notes, may_write=lambda: True, limit=1)
    assert notes.outcomes[0].detail == "LiteLLM answers 400: what is •••?"


class Forgetful(Notes):
    """A recorder that cannot note deletions."""

    def begin(self, action: Action) -> None:
        if action.kind == "delete_litellm":
            raise Unrecorded("DataError")
        super().begin(action)


def test_it_sends_nothing_that_cannot_be_noted(standin: sim.LiteLLM, caplog: pytest.LogCaptureFixture) -> None:
    client, notes = client_of(standin), Forgetful()
    run(client, ADD)
    before = len(standin.writes)
    assert run(client, DELETE, UPDATE, notes=notes, limit=1) == Batch(sent=1)
    assert [(phase, kind) for phase, kind, _ in notes.said] == [
        ("begin", "update_litellm"),
        ("finish", "update_litellm"),
    ]
    assert len(standin.writes) == before + 1
    assert "litellm_write_not_sent kind=delete_litellm" in caplog.text
