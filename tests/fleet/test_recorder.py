"""Writes of rows that strangers filled in, noted in the database: PostgreSQL takes no NUL and counts letters."""

import pytest

from fleet import approvals, clock
from fleet.models import ActionLog, Approval, Attempt
from fleet.recorder import Recorder
from fleet.sources import attempts
from litellm_sync.executor import Outcome, Unrecorded
from reconcile.identity import Key
from reconcile.view import Action, Plan, View

from .builders import action, store_pass

pytestmark = pytest.mark.django_db
LONG = Key("http://203.0.113.99:8001/" + "u" * 600, "n" * 900)
NUL = Key("http://203.0.113.99:8001/\x00", "nul\x00name")


def of_a_stranger(key: Key, **fields: object) -> Action:
    row_id = fields.pop("deployment_id", "x" * 300)
    given = {"status": "needs_human", "key": key, "name": f"203.0.113.99:8001/{key.model}", "deployment_id": row_id}
    return action("prune_orphan", **{**given, **fields})  # type: ignore[arg-type]  # a test says which fields


@pytest.mark.parametrize("key", [LONG, NUL], ids=["long", "nul"])
def test_it_notes_and_releases_any_row(key: Key) -> None:
    seen = {"model_name": key.model, "model_info": {"note\x00": ["a\x00b"]}}
    pruned = of_a_stranger(key, before=seen, reason=f"nobody claims {key.model}")
    store_pass(plan=Plan(actions=(pruned,)))
    approvals.approve_action(pruned.digest, "ada")
    recorder = Recorder(1)
    recorder.begin(pruned)
    recorder.finish(pruned, Outcome(answer="ok"))
    (attempt,) = attempts.fetch(View()).attempts
    assert (attempt.deployment_id, attempt.answer) == ("x" * 300, "ok")
    assert attempt.key.model == key.model.replace("\x00", "")
    assert Approval.objects.get().spent_at is not None
    assert [line.kind for line in ActionLog.objects.order_by("id")] == ["approve", "prune_orphan"]


def test_it_stores_an_answer_with_a_nul_in_it() -> None:
    """A gateway in front of LiteLLM answered 400 with a binary body: what is not stored is sent again."""
    recorder, deletion = Recorder(1), action(status="ready")
    recorder.begin(deletion)
    recorder.finish(deletion, Outcome(answer="refused", detail="LiteLLM answers 400: bad\x00bin\x1f"))
    attempt = Attempt.objects.get()
    assert (attempt.answer, attempt.refusals, attempt.detail) == ("refused", 1, "LiteLLM answers 400: badbin")
    assert ActionLog.objects.get().detail == "LiteLLM answers 400: badbin"


def test_it_says_when_an_action_cannot_be_noted() -> None:
    with pytest.raises(Unrecorded):
        Recorder(1).begin(of_a_stranger(LONG, deployment_id="half a pair: \ud83d"))
    assert clock.now() > 0, "the connection is usable"
    assert not Attempt.objects.exists()
    assert not ActionLog.objects.exists()
