"""Stored passes: which are kept, that each body is kept once, and that each decides the same when it is run again."""

import json
import zlib
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from django.core.management import CommandError, call_command

from fleet import clock, cycle, fetching, keys, passes, replays, snapshots
from fleet.config import current
from fleet.models import Event, Pass, Replay, ReplayBody
from reconcile.inputs import Attempts, Intended
from sim.litellm import MASTER_KEY, LiteLLM

from .loop import MODEL, Fleet

pytestmark = pytest.mark.django_db(transaction=True)
OWN_KEY = "sk-provider-0123456789abcdef"


def replay(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("replay", *arguments, stdout=out)
    return int(ended.value.code or 0), out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("replay", *arguments, stdout=StringIO())
    assert refused.value.returncode == 2
    return str(refused.value)


def kept() -> list[int]:
    return sorted(Replay.objects.values_list("pass_id", flat=True))


def bodies() -> list[bytes]:
    return [zlib.decompress(body) for body in ReplayBody.objects.values_list("body", flat=True)]


# --- which passes are kept ------------------------------------------------------------------------------------


def test_it_keeps_the_passes_that_changed_something_and_no_other(fleet: Fleet) -> None:
    cycle.run()
    assert Replay.objects.order_by("pass_id").first() is not None
    first, second = kept()
    assert Replay.objects.get(pass_id=first).why == "1 verdict changed, 1 action ready"
    assert Replay.objects.get(pass_id=second).why == "2 verdicts changed"
    for _ in range(3):
        fleet.probed()
        cycle.run()
    assert kept() == [first, second]


def test_it_keeps_a_pass_whose_plan_changed_and_not_the_next_like_it(fleet: Fleet) -> None:
    fleet.configure(mode="observe")
    cycle.run()
    cycle.run()
    fleet.configure(add_litellm="needs_human")
    cycle.run()
    cycle.run()
    assert list(Replay.objects.order_by("pass_id").values_list("why", flat=True)) == [
        "1 verdict changed, 1 action new or changed",
        "1 action new or changed",
    ]


def test_it_notes_events_in_the_pass_that_changed_them(fleet: Fleet) -> None:
    cycle.run()
    first, second = kept()
    noted = [(event.pass_id, event.what, event.after) for event in Event.objects.order_by("id")]
    assert noted == [(first, "appeared", "Healthy"), (second, "sync", "in sync"), (second, "row", "ours")]


def test_it_keeps_a_body_that_did_not_change_once(fleet: Fleet) -> None:
    cycle.run()
    used = Replay.bodies.through.objects.count()
    assert ReplayBody.objects.count() < used
    wanted = snapshots.latest("intended", Intended)
    assert bodies().count(msgspec.json.encode(wanted)) == 1


def test_it_forgets_by_count_and_with_it_the_bodies_that_nobody_needs(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle.run()
    monkeypatch.setattr(replays, "KEPT", 1)
    fleet.probed("refused")
    cycle.run()
    (newest,) = kept()
    assert {body.digest for body in ReplayBody.objects.all()} == {
        body.digest for body in Replay.objects.get(pass_id=newest).bodies.all()
    }
    assert replay(str(newest))[0] == 0


def test_it_forgets_by_age(fleet: Fleet) -> None:
    cycle.run()
    Replay.objects.update(at=clock.now() - replays.KEPT_S - 1)
    cycle.run()
    assert (kept(), ReplayBody.objects.count()) == ([], 0)


def test_it_keeps_the_answer_as_long_as_the_question(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle.run()
    asked = kept()
    monkeypatch.setattr(passes, "KEPT", 2)
    for _ in range(4):
        cycle.run()
    stored = sorted(Pass.objects.values_list("id", flat=True))
    assert stored[: len(asked)] == asked and len(stored) == len(asked) + 2


def test_it_keeps_nothing_of_a_pass_that_was_not_stored(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(replays, "keep", broken)
    with pytest.raises(RuntimeError):
        cycle.run()
    assert (Pass.objects.count(), Event.objects.count(), Replay.objects.count()) == (0, 0, 0)


def test_it_holds_no_secret(fleet: Fleet) -> None:
    provider = {
        "model_name": "gpt-x",
        "litellm_params": {"model": "openai/gpt-x", "api_base": "https://api.example.test/v1", "api_key": OWN_KEY},
        "model_info": {"self_hosted": False},
        "provider": "acme",
    }
    (fleet.folder / "models.yaml").write_text(yaml.safe_dump({"models": [MODEL, provider]}))
    fetching.fetch("intended", waking=False)
    cycle.run()
    assert len(fleet.litellm.rows()) == 2
    secrets = [OWN_KEY, MASTER_KEY, "sk-fleet", keys.server_key(current(), fleet.host(0), 8003)]
    assert [row.litellm_params["api_key"] for row in fleet.litellm.rows().values()] != [None, None]
    everything = [*bodies(), *(zlib.decompress(stub) for stub in Replay.objects.values_list("stub", flat=True))]
    assert len(everything) > 8 and any(b'"secret":' in body for body in everything)
    assert [secret for secret in secrets for body in everything if secret.encode() in body] == []
    noted = json.dumps(list(Event.objects.values_list("name", "before", "after", "reason")))
    assert [secret for secret in secrets if secret in noted] == []


# --- deciding again -------------------------------------------------------------------------------------------


def test_it_decides_every_kept_pass_the_same_again(fleet: Fleet) -> None:
    cycle.run()
    fleet.probed("refused")
    cycle.run()
    assert len(kept()) == 3
    for number in kept():
        code, said = replay(str(number))
        assert (code, said.split(":")[0]) == (0, f"Pass {number} decides the same")


def test_it_replays_the_newest_without_a_number(fleet: Fleet) -> None:
    cycle.run()
    assert replay() == (0, f"Pass {kept()[-1]} decides the same: 1 record, 0 actions, 0 items.\n")


def test_it_decides_from_exactly_what_the_pass_had(fleet: Fleet) -> None:
    cycle.run()
    given = replays.load(kept()[0])
    assert given.snapshots.intended.body == snapshots.latest("intended", Intended)
    assert given.snapshots.attempts.body == Attempts()
    assert given.snapshots.vllm.interval_s == 15
    assert given.now == Pass.objects.get(pk=kept()[0]).at


def test_it_says_in_which_verdicts_and_actions_it_decides_otherwise(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle.run()
    number = kept()[0]
    monkeypatch.setattr("reconcile.probe.REFUSED", 403)  # another rule than when the pass was decided
    code, said = replay(str(number))
    assert code == 1
    name = "203.0.113.10:8003/tiny"
    for line in (
        f"Pass {number} decides otherwise now (then → now):",
        f"lifecycle    {name}",
        "Healthy → Awaiting",
        "ok → not ok",
        "add_litellm",
        " → –",
        "Available, ",
    ):
        assert line in said


def test_it_says_when_only_sentences_differ(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle.run()
    monkeypatch.setattr("reconcile.lifecycle.box_name", lambda _: "elsewhere")
    code, said = replay(str(kept()[0]))
    assert code == 1 and "only in sentences, readings shown, or what it remembers" in said


def test_it_cuts_a_long_list_of_differences(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.hosts = 12
    fleet.configure()
    fleet.probed()
    cycle.run()
    monkeypatch.setattr("reconcile.probe.REFUSED", 403)
    code, said = replay(str(kept()[0]))
    assert code == 1 and "… and " in said and said.count("\n") == 22


# --- what cannot be replayed ----------------------------------------------------------------------------------


def test_it_says_so_before_anything_is_kept() -> None:
    assert refusal() == "No pass can be replayed yet: one is kept when it changes something."
    assert refusal("3") == "Pass 3 is not known: it cannot be replayed; nor can any other, until one changes something."


def test_it_names_the_nearest_that_can_be_replayed(fleet: Fleet) -> None:
    cycle.run()
    first, second = kept()
    cycle.run()
    assert refusal(str(second + 1)) == (
        f"Pass {second + 1} changed nothing, so it cannot be replayed; the nearest that can be: {second}."
    )
    assert refusal("999999").endswith(f"is not known: it cannot be replayed; the nearest that can be: {second}.")
    fleet.probed("refused")
    cycle.run()
    assert f"the nearest that can be: {second} and {kept()[-1]}." in refusal(str(second + 1))
    assert f"the nearest that can be: {first}." in refusal(str(first - 1))


@pytest.mark.parametrize("text", ["newest", "-1", "1.5", "٣"])
def test_it_refuses_what_is_no_number(text: str) -> None:
    arguments = ("--", text) if text.startswith("-") else (text,)
    assert refusal(*arguments) == f"{text!r} is no pass: write its number, as in 12."


def test_it_says_when_another_version_stored_it(fleet: Fleet) -> None:
    cycle.run()
    number = kept()[0]
    Replay.objects.filter(pass_id=number).update(stub=zlib.compress(b'{"snapshots": {}}'))
    assert f"Pass {number} was stored by another version of llmao" in refusal(str(number))


# --- as a scenario --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dead", "R71-x", "R10", "R10-", "R10-a/b", "../R10-x", "Z-x", "r10-x"])
def test_it_refuses_a_name_that_no_scenario_can_have(fleet: Fleet, tmp_path: Path, name: str) -> None:
    cycle.run()
    assert "begin with the rule that it shows" in refusal("--as-case", name, "--to", str(tmp_path))


def test_it_writes_over_nothing_and_into_no_folder_that_is_not_there(
    fleet: Fleet, tmp_path: Path, litellm: LiteLLM
) -> None:
    cycle.run()
    assert refusal("--as-case", "R04-x", "--to", "/nowhere/cases").startswith("There is no folder /nowhere/cases:")
    (tmp_path / "R04-x.json").write_text("{}")
    assert refusal("--as-case", "R04-x", "--to", str(tmp_path)) == f"{tmp_path}/R04-x.json exists: take another name."
