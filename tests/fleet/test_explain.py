"""`manage.py explain`: the rule of each verdict, the readings with their ages, and what would change it in numbers."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from fleet import clock, cycle, passes, rules
from fleet.explain import explained
from fleet.models import ActionLog, Event, Memory, Pass, Replay
from fleet.passes import Shown
from fleet.prospects import Recalled, prospects
from reconcile.view import Record
from tests.reconcile.scenario import files, read
from tests.reconcile.stage import Turn, play, played

from .loop import Fleet

BOX = "203.0.113.10:8003"
KEY = f"{BOX}/qwen3-8b"
MISSED = {"misses": {"n": 2, "span_s": 15, "ended_s_ago": 16}, "last_ok_age_s": 46}
ROW = {"of": KEY, "at": BOX}


def explain(*arguments: str) -> str:
    out = StringIO()
    call_command("explain", *arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("explain", *arguments, stdout=StringIO())
    return str(refused.value)


def last(then: list[dict[str, Any]] | None = None, **given: Any) -> Turn:
    """The last step of a scenario with one server."""
    told = {"servers": [f"{BOX} qwen3-8b"], **given}
    words = {"title": "a box", "table": ["A"], "given": told, "expect": {}, "then": then or []}
    return play(read(json.dumps(words).encode()))[-1]


def shown(turn: Turn) -> Shown:
    return Shown(7, turn.now, turn.decision.view, turn.decision.plan)


def told(turn: Turn, record: Record) -> list[str]:
    return prospects(shown(turn), record, Recalled(turn.settings, turn.decision.history), turn.now)


def ahead(then: list[dict[str, Any]] | None = None, **given: Any) -> list[str]:
    """What would change the first record."""
    turn = last(then, **given)
    return told(turn, turn.decision.view.records[0])


# --- rules ----------------------------------------------------------------------------------------------------


def test_it_has_a_sentence_for_every_row_of_the_table() -> None:
    assert list(rules.ROWS) == [f"R{number:02}" for number in range(1, 71)]
    assert all(rules.sentence(rule) for rule in (*rules.ROWS, *rules.SECTIONS))
    assert rules.sentence("R71") == ""


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_it_has_a_rule_and_a_sentence_for_every_verdict_there_is(path: Any) -> None:
    for turn in played(path):
        for record in turn.decision.view.records:
            verdicts = rules.of_verdicts(record)
            assert verdicts[0] == ("lifecycle", record.rule)
            assert [verdict for verdict, rule in verdicts if not rules.sentence(rule)] == []
        plan = turn.decision.plan
        planned = [each.rule for each in plan.actions] + [each.rule for each in plan.items if each.rule]
        assert [rule for rule in planned if not rules.sentence(rule)] == []


@pytest.mark.django_db
@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_it_explains_every_record_there_is(path: Any) -> None:
    turn = played(path)[-1]
    for record in turn.decision.view.records:
        text = "\n".join(explained(shown(turn), record, turn.now))
        assert text.startswith(f"{record.name}: {record.lifecycle}") and record.reason in text
        assert all(line.strip() for line in told(turn, record))


# --- what would change it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"probes": [{"of": BOX}]}, "Unhealthy at 3 misses: 3 more"),
        ({"probes": [{"of": BOX, "says": "refused"}], "rows": [ROW]}, "Unhealthy at 3 misses: 2 more"),
        (
            {"probes": [{"of": BOX, "says": "refused", "age_s": 30}], "history": {"keys": {KEY: MISSED}}},
            "Unhealthy at 3 misses: 1 more",
        ),
        (
            {
                "probes": [{"of": BOX, "says": "refused", "age_s": 15}],
                "history": {"keys": {KEY: {**MISSED, "misses": {"n": 2, "span_s": 1, "ended_s_ago": 16}}}},
            },
            "Unhealthy once its misses span 27 s: 2 s so far",
        ),
        (
            {"probes": [{"of": BOX, "says": "refused"}], "history": {"keys": {KEY: MISSED}}, "rows": [ROW]},
            f"Healthy at the next good probe of {BOX}",
        ),
        ({}, "Loading once the box fetches its config"),
        (
            {"config": [{"host": "203.0.113.10"}]},
            "Stalled when it does not serve within 30 min of first getting its config",
        ),
        (
            {"listings": {"vast": []}, "history": {"placed": {"203.0.113.10": {"by": "vast:1", "listed_s_ago": 9e5}}}},
            "probed once a listing, a pin or our own row gives an address",
        ),
    ],
)
def test_it_says_how_far_a_lifecycle_is_from_the_next(given: dict[str, Any], says: str) -> None:
    assert says in ahead(**given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "added at its first good probe"),
        ({"drained": [KEY], "probes": [{"of": BOX}]}, "added once it is no longer drained"),
        ({"sources": {"deployments": "stale"}}, "nothing is written until LiteLLM's rows are read again"),
        (
            {"probes": [{"of": BOX}], "history": {"keys": {KEY: {"removed_s_ago": [100]}}}},
            "added again after 2 more good probes",
        ),
        (
            {"probes": [{"of": BOX}], "history": {"keys": {KEY: {"removed_s_ago": [900, 100]}}}},
            "added again after 5 more good probes",
        ),
        (
            {"probes": [{"of": BOX}], "history": {"rows": {KEY: {"listed_s_ago": 35}}}},
            "added again once no replica of LiteLLM can still list its old row: in 40 s",
        ),
    ],
)
def test_it_says_what_is_missing_before_a_row_is_added(given: dict[str, Any], says: str) -> None:
    assert says in ahead(**given)


def test_it_says_when_an_orphan_is_pruned() -> None:
    other = {"of": "203.0.113.20:8001/old", "at": "203.0.113.20:8001"}
    turn = last(servers=[], rows=[other])
    (record,) = turn.decision.view.records
    assert told(turn, record) == ["pruned after 3 readings over 108 s: 2 more"]


def test_it_says_that_it_leaves_the_rows_of_others_alone() -> None:
    theirs = {"id": "x", "name": "gpt", "api_base": "https://api.acme.example/v1"}
    turn = last(servers=[], rows=[theirs])
    (record,) = turn.decision.view.records
    assert told(turn, record) == ["nothing: llmao never touches a row that is not its own"]


def test_it_says_when_a_host_is_unlisted_and_what_ends_that() -> None:
    placed = {"placed": {"203.0.113.10": {"by": "vast:1"}}, "keys": {KEY: {"last_url": BOX}}}
    missing = ahead(listings={"vast": []}, history=placed)
    assert "unlisted at 3 listings without it: 2 more" in missing
    gone = {**placed, "hosts": {"203.0.113.10": {"unlisted": True}}}
    assert "listed again at the first vast listing that has 203.0.113.10" in ahead(listings={"vast": []}, history=gone)


@pytest.mark.parametrize(
    ("opinions", "history", "says"),
    [
        ([], {}, "Unhealthy when LiteLLM says down twice running, Healthy when it says up"),
        (
            [{"of": "acme/gpt-x", "says": "down", "age_s": 20}],
            {},
            "Unhealthy when LiteLLM says down once more: asked again in 40 s",
        ),
        (
            [{"of": "acme/gpt-x", "says": "down", "age_s": 20}],
            {"acme/gpt-x": {"downs": 1, "opinion_age_s": 90}},
            "Healthy when LiteLLM's own check reaches it again",
        ),
    ],
)
def test_it_says_what_a_provider_has_to_answer(opinions: list[Any], history: dict[str, Any], says: str) -> None:
    bought = {"name": "gpt-x", "base": "https://api.acme.example/v1", "provider": "acme"}
    given: dict[str, Any] = {
        "models": [bought],
        "rows": [{"of": "acme/gpt-x"}],
        "opinions": opinions,
        "history": {"rows": history},
    }
    assert says in ahead(**given, servers=[])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "add_litellm is sent by the loop next"),
        ({"settings": {"policy": {"add_litellm": "needs_human"}}}, "add_litellm is sent after `manage.py approve "),
        ({"settings": {"mode": "observe"}}, "add_litellm is sent once policy.mode is act"),
        (
            {"attempts": [{"kind": "add_litellm", "of": KEY, "age_s": 2, "answer": "refused", "refusals": 1}]},
            "add_litellm is tried again in 3 s",
        ),
        (
            {"attempts": [{"kind": "add_litellm", "of": KEY, "at": BOX, "age_s": 25}]},
            "add_litellm was sent; LiteLLM has 50 s to show it everywhere",
        ),
    ],
)
def test_it_says_what_a_pending_write_waits_for(given: dict[str, Any], says: str) -> None:
    assert any(line.startswith(says) for line in ahead(probes=[{"of": BOX}], **given))


def test_it_says_what_a_held_removal_waits_for() -> None:
    held = ahead(probes=[{"of": BOX, "says": "refused"}], history={"keys": {KEY: MISSED}}, rows=[ROW])
    assert any(line.startswith("delete_litellm is sent once LiteLLM calls it down too, or after `") for line in held)


# --- the command ----------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_it_tells_a_whole_story(fleet: Fleet) -> None:
    cycle.run()
    fleet.probed("refused")
    cycle.run()
    text = explain("203.0.113.10:8003")
    for said in (
        "203.0.113.10:8003/tiny: Healthy  (R05)",
        "lifecycle  R05  it was ok and has missed too few probes to matter: Healthy",
        "address    A3   without a mapping, the address that worked last",
        "misses     C    a run of misses counts once",
        "intended       read ",
        "probe          not reached, connection refused, ",
        ", ours, rows read ",
        "Unhealthy at 3 misses: 2 more",
        "probe     ok → unreached                     connection refused",
        "appeared  – → Healthy",
        "add_litellm  ok  by rule R04  it answers at 203.0.113.10:8003 and has no row in LiteLLM",
    ):
        assert said in text


@pytest.mark.django_db(transaction=True)
def test_it_tells_a_pass_as_it_was(fleet: Fleet) -> None:
    cycle.run()
    first = Replay.objects.order_by("pass_id").values_list("pass_id", flat=True)[0]
    fleet.probed("refused")
    cycle.run()
    ActionLog.objects.create(kind="drain", name="203.0.113.10:8003/tiny", by="ada", reason="later than that pass")
    text = explain("203.0.113.10:8003/tiny", "--pass", str(first))
    for said in (
        "tiny: Healthy  (R04)",
        "add_litellm: ready, digest",
        "add_litellm is sent by the loop next",
        "intended not in litellm  R04",
        f"From pass {first}, ",
        "ages count to it",
    ):
        assert said in text
    assert "unreached" not in text and "none → ours" not in text and "later than that pass" not in text


@pytest.mark.django_db(transaction=True)
def test_it_says_what_a_pass_no_longer_tells(fleet: Fleet) -> None:
    cycle.run()
    number = passes.latest()
    assert number is not None
    Replay.objects.all().delete()
    Memory.objects.filter(name="history").delete()
    text = explain("203.0.113.10:8003", "--pass", str(number.id))
    assert "What would change it: not known, what this pass remembered is no longer kept" in text


@pytest.mark.django_db(transaction=True)
def test_it_names_the_nearest_passes(fleet: Fleet) -> None:
    cycle.run()
    stored = sorted(Pass.objects.values_list("id", flat=True))
    wrong = stored[-1] + 9
    assert refusal(BOX, "--pass", str(wrong)) == f"Pass {wrong} is not stored. The nearest that are: {stored[-1]}."
    assert refusal(BOX, "--pass", "last") == "'last' is no pass: write its number, as in 12."


@pytest.mark.django_db
def test_it_says_what_to_do_before_the_first_pass() -> None:
    assert refusal(BOX, "--pass", "1") == "No pass has run yet: `manage.py reconcile` runs one now."


@pytest.mark.django_db(transaction=True)
def test_it_shows_the_last_events_only(fleet: Fleet) -> None:
    cycle.run()
    event = Event.objects.order_by("id").first()
    assert event is not None
    words = {"name": event.name, "what": "probe", "before": "ok", "after": "unreached"}
    Event.objects.bulk_create(
        Event(at=clock.now(), pass_id=event.pass_id, key_id=event.key_id, reason=f"number {number}", **words)
        for number in range(12)
    )
    text = explain("203.0.113.10:8003")
    assert "Events (the last 10)" in text and "number 11" in text and "number 2\n" in text and "number 1\n" not in text
