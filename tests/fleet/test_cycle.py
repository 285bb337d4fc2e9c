"""The loop on a database and a LiteLLM stand-in: what is ready is written once, noted before, and read back after."""

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from fleet import clock, cycle, fetching, lease, passes, snapshots
from fleet.models import ActionLog, Approval, Attempt, Lease
from reconcile.decide import reconcile
from reconcile.inputs import Opinion, Opinions
from reconcile.view import Action
from sim.litellm import MASTER_KEY
from sim.litellm.faults import Fault
from tests.litellm.api import Api

from .loop import Fleet

pytestmark = pytest.mark.django_db(transaction=True)


def planned() -> list[tuple[str, str]]:
    shown = passes.latest()
    assert shown is not None
    return [(action.kind, action.status) for action in shown.plan.actions]


def the_action() -> Action:
    shown = passes.latest()
    assert shown is not None
    (action,) = shown.plan.actions
    return action


def test_it_adds_a_serving_box_and_sees_it_afterwards(fleet: Fleet) -> None:
    assert cycle.run() == 2, "one pass that writes, one that finds nothing left"
    (row,) = fleet.litellm.rows().values()
    assert row.api_base == "http://203.0.113.10:8003/v1"
    assert str(row.litellm_params["api_key"]).startswith("sk-vllm-")
    assert planned() == []
    attempt = Attempt.objects.get()
    assert (attempt.kind, attempt.answer, attempt.deployment_id) == ("add_litellm", "ok", row.id)
    line = ActionLog.objects.get()
    assert (line.kind, line.by, line.answer) == ("add_litellm", "rule R04", "ok")
    assert "answers at 203.0.113.10:8003" in line.reason


def test_it_keeps_no_secret_of_what_it_wrote(fleet: Fleet) -> None:
    cycle.run()
    (row,) = fleet.litellm.rows().values()
    key = row.litellm_params["api_key"]
    stored = passes.latest()
    kept = [str(Attempt.objects.get().after), str(ActionLog.objects.get().after), repr(stored)]
    assert not [text for text in kept if key in text or MASTER_KEY in text]


def test_it_leaves_litellm_in_peace_when_nothing_changed(fleet: Fleet) -> None:
    cycle.run()
    before = len(fleet.litellm.calls)
    for _ in range(3):
        cycle.run()
    assert len(fleet.litellm.calls) == before


def test_it_writes_at_most_so_many_before_it_looks_again(fleet: Fleet) -> None:
    fleet.hosts = 5
    fleet.configure(actions_per_pass=2)
    fleet.probed()
    assert cycle.run() == 4, "2 + 2 + 1 writes, and the pass that finds nothing left"
    paths = [call.path for call in fleet.litellm.calls[1:] if call.path.startswith("/model/")]
    write, read = "/model/new", "/model/info"
    assert paths == [write, write, read, write, write, read, write, read]


def test_it_finishes_a_create_that_got_no_answer_by_a_patch_of_the_same_id(fleet: Fleet) -> None:
    slow = Fault("/model/new", "POST", delay_s=2.5)
    fleet.litellm.faults.append(slow)
    cycle.run()
    assert Attempt.objects.get().answer == "unknown"
    fleet.litellm.faults.clear()
    fleet.read()
    cycle.run()
    assert Attempt.objects.get().answer == "ok"
    assert len(fleet.litellm.rows()) == 1
    assert [(call.method, call.status) for call in fleet.litellm.writes][-1][0] in ("PATCH", "POST")


def test_it_stops_at_a_proxy_that_does_not_answer_and_does_not_hammer_it(fleet: Fleet) -> None:
    fleet.hosts = 4
    fleet.configure()
    fleet.probed()
    fleet.litellm.faults.append(Fault("/model/new", "POST", delay_s=2.5))
    cycle.run()
    assert len(fleet.litellm.writes) <= 1
    assert Attempt.objects.count() == 1


def test_it_backs_off_from_a_refusal_and_says_when_it_tries_again(fleet: Fleet) -> None:
    fleet.litellm.faults.append(Fault("/model/new", "POST", status=400))
    cycle.run()
    assert planned() == [("add_litellm", "backing_off")]
    shown = passes.latest()
    assert shown is not None
    (item,) = [each for each in shown.plan.items if each.kind == "write_failing"]
    assert "next try in 5 s" in item.reason or "next try in 4 s" in item.reason
    cycle.run()
    assert len(fleet.litellm.writes) == 1
    assert Attempt.objects.get().refusals == 1


def test_it_carries_an_approval_out_once_and_spends_it(fleet: Fleet) -> None:
    fleet.configure(add_litellm="needs_human")
    fleet.probed()
    cycle.run()
    assert planned() == [("add_litellm", "needs_human")]
    action = the_action()
    Approval.objects.create(
        digest=action.digest,
        kind=action.kind,
        key_url=action.key.url,
        key_model=action.key.model,
        name=action.name,
        at=clock.now(),
        by="ana",
    )
    fetching.fetch("intended", waking=False)
    cycle.run()
    assert len(fleet.litellm.rows()) == 1
    assert Approval.objects.get().spent_at is not None
    assert ActionLog.objects.get(kind="add_litellm").by == "ana"


def test_it_writes_nothing_to_a_proxy_without_its_database(fleet: Fleet) -> None:
    fleet.litellm.store.connected = False
    cycle.run()
    fleet.litellm.store.connected = True
    assert fleet.litellm.writes == []
    assert Attempt.objects.count() == 0
    shown = passes.latest()
    assert shown is not None
    assert ["cannot keep what is written" in item.reason for item in shown.plan.items] == [True]
    fleet.read()
    cycle.run()
    assert len(fleet.litellm.rows()) == 1


def test_it_reads_an_edited_configuration_before_it_decides(fleet: Fleet) -> None:
    cycle.run()
    path = fleet.folder / "config.yaml"
    path.write_text(path.read_text().replace("203.0.113.10", "203.0.113.99"))
    cycle.run()
    shown = passes.latest()
    assert shown is not None
    assert {record.host for record in shown.view.records if record.origin == "config"} == {"203.0.113.99"}


def test_it_shows_and_writes_nothing_in_mode_observe(fleet: Fleet) -> None:
    fleet.configure(mode="observe")
    cycle.run()
    assert planned() == [("add_litellm", "observed")]
    assert fleet.litellm.writes == []


def test_it_does_nothing_while_another_process_decides(fleet: Fleet) -> None:
    held = lease.take("any")
    assert held is not None
    assert cycle.run() == 0
    assert passes.latest() is None
    held.drop()
    assert cycle.run() > 0


def test_it_goes_round_again_for_what_came_during_the_pass(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.configure(mode="observe")
    real, knocks = passes.store, [1, 1]

    def store_and_knock(*args: Any) -> int:
        if knocks:
            knocks.pop()
            lease.count_wake_up()
        return real(*args)

    monkeypatch.setattr(passes, "store", store_and_knock)
    assert cycle.run() == 3


def test_it_stores_and_sends_nothing_once_the_lease_ran_out(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def outlast(*args: Any) -> Any:
        Lease.objects.update(until=clock.now() - 1)
        return reconcile(*args)

    monkeypatch.setattr(cycle, "reconcile", outlast)
    assert cycle.run() == 0
    assert passes.latest() is None
    assert fleet.litellm.writes == []


def test_it_keeps_the_last_good_rows_when_an_edit_is_invalid(fleet: Fleet) -> None:
    cycle.run()
    (fleet.folder / "config.yaml").write_text("fleet: [")
    fetching.fetch("intended", waking=False)
    fleet.probed()
    cycle.run()
    shown = passes.latest()
    assert shown is not None
    assert [record.lifecycle for record in shown.view.records] == ["Healthy"]
    assert [item.name for item in shown.plan.items if item.kind == "source_failing"] == ["intended"]
    assert len(fleet.litellm.rows()) == 1


def test_it_removes_a_dead_box_only_when_litellm_agrees(fleet: Fleet) -> None:
    fleet.interval_s = 0.5
    fleet.configure()
    fleet.probed()
    cycle.run()
    (row,) = fleet.litellm.rows()
    for _ in range(3):
        time.sleep(0.5)
        fleet.probed("refused")
        cycle.run()
    assert planned() == [("delete_litellm", "held")]
    opinions = Opinions(opinions=(Opinion(id=row, state="down", asked_at=clock.now()),))
    snapshots.publish("litellm_health", opinions, clock.now())
    cycle.run()
    assert fleet.litellm.rows() == {}
    assert ActionLog.objects.filter(kind="delete_litellm").get().answer == "ok"


def test_it_asks_litellm_about_a_box_that_stops_answering(fleet: Fleet) -> None:
    cycle.run()
    shown = passes.latest()
    assert shown is not None and len(shown.view.ask) == 1


def test_it_takes_a_write_that_was_never_sent_for_none(fleet: Fleet) -> None:
    cycle.run()
    (row,) = fleet.litellm.rows().values()
    attempt = Attempt.objects.get()
    attempt.answer, attempt.sent_at = "unsent", clock.now()
    attempt.kind = "update_litellm"
    attempt.after = {**(attempt.after or {})}
    attempt.save()
    fetching.fetch("attempts", waking=False)
    fleet.litellm.store.rows[row.id] = replace(row, model_name="renamed-in-the-ui")
    fleet.litellm.router.reload()
    fleet.read()
    cycle.run()
    assert fleet.litellm.rows()[row.id].model_name == "tiny"


def test_it_writes_once_when_litellm_answers_in_binary(fleet: Fleet) -> None:
    """A NUL in the answer is no text that PostgreSQL takes; an answer that is not noted would be asked for for ever."""
    fleet.litellm.faults.append(Fault("/model/new", status=400, text="bad\x00bin", content_type="text/plain"))
    for _ in range(3):
        cycle.run()
    assert [call.path for call in fleet.litellm.calls].count("/model/new") == 1
    attempt = Attempt.objects.get()
    assert (attempt.answer, attempt.refusals, attempt.detail) == ("refused", 1, "LiteLLM answers 400: badbin")


def test_it_works_on_beside_rows_without_a_name(fleet: Fleet, admin_client: Client) -> None:
    """Anybody can add one in LiteLLM's own page; the list with it in is still the list."""
    api = Api(fleet.litellm.base_url, MASTER_KEY)
    for row_id, name, info in (("blank", "  ", {}), ("stamped", " ", {"llmao_key": "not a url ["})):
        body = {"model_name": name, "litellm_params": {"model": "openai/x"}, "model_info": {"id": row_id, **info}}
        api.post("/model/new", body)
    fleet.read()
    cycle.run()
    names = {row.id: row.model_name for row in fleet.litellm.rows().values()}
    assert len(names) == 3, "ours was added, and the others were left alone"
    own = Attempt.objects.get().deployment_id
    api.patch(own, {"model_name": " tiny ", "model_info": {"id": own}})
    fleet.read()
    assert admin_client.get("/models").status_code == 200
    Attempt.objects.update(sent_at=clock.now() - 600, answered_at=clock.now() - 600)
    fleet.read()
    cycle.run()
    assert fleet.litellm.rows()[own].model_name == "tiny", "a rename to another name, blanks and all, is put back"


def test_it_decides_anew_when_a_batch_takes_longer_than_a_clock_of_probes(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.hosts, fleet.interval_s = 3, 0.5
    monkeypatch.setattr(cycle, "BATCH_LEAST_S", 0.2)
    fleet.configure()
    fleet.probed()
    fleet.litellm.faults.append(Fault("/model/new", "POST", delay_s=0.6))
    fleet.read()
    cycle.run()
    paths = [call.path for call in fleet.litellm.calls if call.path.startswith("/model/")]
    assert "/model/new" in paths
    assert not [two for two in pairwise(paths) if two == ("/model/new", "/model/new")], "a look after each slow write"
