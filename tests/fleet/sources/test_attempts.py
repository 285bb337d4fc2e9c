"""The attempts source: what was lately tried."""

from typing import Any

import msgspec
import pytest

from fleet import clock, models
from fleet.sources.attempts import fetch
from reconcile.identity import Key
from reconcile.inputs import Attempt, Attempts
from reconcile.view import View

pytestmark = pytest.mark.django_db
DAY = 24 * 3600


def reading() -> Attempts:
    return msgspec.json.decode(msgspec.json.encode(fetch(View())), type=Attempts)


def attempt(identifier: str, age_s: float, **fields: Any) -> models.Attempt:
    given: dict[str, Any] = {
        "kind": "add_litellm", "key_url": "http://203.0.113.10:8001", "key_model": "qwen3-8b", "digest": "d",
        "cause": "new", "after": {"litellm_params": {"api_key": {"secret": "ab"}}}, "answer": "ok",
        "sent_at": clock.now() - age_s,
    }  # fmt: skip
    return models.Attempt.objects.create(deployment_id=identifier, **{**given, **fields})


def test_it_reads_a_write_as_it_was_noted() -> None:
    row = attempt("llmao-1", 10, answer="refused", answered_at=5.0, detail="400 no", refusals=2)
    assert reading().attempts == (
        Attempt(
            deployment_id="llmao-1",
            kind="add_litellm",
            key=Key("http://203.0.113.10:8001", "qwen3-8b"),
            digest="d",
            cause="new",
            after={"litellm_params": {"api_key": {"secret": "ab"}}},
            sent_at=row.sent_at,
            answer="refused",
            answered_at=5.0,
            detail="400 no",
            refusals=2,
        ),
    )


def test_it_reads_the_last_day_and_what_is_not_over() -> None:
    attempt("new", DAY - 60)
    attempt("old", DAY + 60)
    attempt("old-pending", DAY + 60, answer="pending")
    attempt("old-unknown", DAY + 60, answer="unknown")
    attempt("old-refused", DAY + 60, answer="refused", refusals=1)
    found = [each.deployment_id for each in reading().attempts]
    assert found == ["new", "old-pending", "old-refused", "old-unknown"]


def test_it_reads_a_delete_without_a_body() -> None:
    attempt("gone", 1, kind="delete_litellm", after=None)
    assert reading().attempts[0].after is None
