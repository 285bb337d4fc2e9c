"""When a source is read, also when the database's clock was set back and what is stored lies in the future."""

from typing import Any

import pytest

from fleet import clock, fetching
from fleet.models import SourceState

pytestmark = pytest.mark.django_db
HOUR_S = 3600.0


def stored(**fields: Any) -> None:
    SourceState.objects.create(name="boxes", **fields)


def taken_at() -> float:
    at = SourceState.objects.get(name="boxes").taken_at
    assert at is not None
    return at


def test_it_leaves_a_source_that_is_being_read() -> None:
    stored(busy_until=clock.now() + fetching.LONGEST_CLAIM_S)
    assert not fetching.fetch_unless_busy("boxes")


def test_it_reads_a_source_whose_claim_is_from_the_future() -> None:
    stored(busy_until=clock.now() + HOUR_S)
    assert fetching.fetch_unless_busy("boxes")
    assert SourceState.objects.get(name="boxes").busy_until == 0


def test_it_takes_a_reading_from_the_future_for_no_news() -> None:
    now = clock.now()
    stored(taken_at=now + HOUR_S)
    assert fetching.fetch_unless_busy("boxes", now)
    assert now <= taken_at() < now + HOUR_S / 2


def test_it_is_content_with_a_reading_since() -> None:
    now = clock.now()
    stored(taken_at=now)
    assert not fetching.fetch_unless_busy("boxes", now - 1)


@pytest.mark.parametrize(("age_s", "due"), [(10, False), (61, True), (-HOUR_S, True)])
def test_it_reads_early_once_a_minute(age_s: float, due: bool) -> None:
    stored(early_at=clock.now() - age_s)
    assert fetching.due_early("boxes") is due
    assert not fetching.due_early("boxes")


def test_it_sends_for_what_is_ahead_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, ...]] = []
    monkeypatch.setattr(fetching, "send", lambda task, _why, *args: sent.append((task, *args)))
    SourceState.objects.create(name="vllm", taken_at=clock.now())
    SourceState.objects.create(name="vast", taken_at=clock.now() + HOUR_S, configured=False)
    stored(taken_at=clock.now() + HOUR_S)
    fetching.read_what_is_ahead()
    assert sent == [("fleet.fetch", "boxes")]
