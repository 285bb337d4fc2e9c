"""Readings in the database, also when its clock was set back and what was stored lies in the future."""

import pytest
from django.db.models import F

from fleet import clock, snapshots
from fleet.models import Snapshot, SourceState
from reconcile.inputs import Probe, Probes

pytestmark = pytest.mark.django_db
HOUR_S = 3600.0


def probes(base: str) -> Probes:
    return Probes(probes=(Probe(base=base, url=base, at=clock.now()),))


def clock_was_set_back() -> None:
    """By one hour: every stored time is an hour ahead."""
    Snapshot.objects.update(taken_at=F("taken_at") + HOUR_S)
    SourceState.objects.update(taken_at=F("taken_at") + HOUR_S)


def state() -> SourceState:
    return SourceState.objects.get(name="vllm")


def test_it_keeps_the_newer_of_two_readings() -> None:
    now = clock.now()
    snapshots.publish("vllm", probes("new"), now)
    snapshots.publish("vllm", probes("old"), now - 10)
    snapshots.fail("vllm", "too late", now - 5)
    assert (state().taken_at, state().error) == (now, "")


def test_it_replaces_a_reading_from_the_future() -> None:
    snapshots.publish("vllm", probes("before"), clock.now())
    clock_was_set_back()
    now = clock.now()
    snapshots.publish("vllm", probes("after"), now)
    read = snapshots.latest("vllm", Probes)
    assert read is not None
    assert [each.base for each in read.probes] == ["after"]
    assert state().taken_at == now


def test_it_shows_a_failure_beside_a_reading_from_the_future() -> None:
    snapshots.publish("vllm", probes("before"), clock.now())
    clock_was_set_back()
    snapshots.fail("vllm", "it refuses the connection", clock.now())
    assert state().error == "it refuses the connection"


def test_it_believes_a_reading_that_is_a_little_ahead() -> None:
    now = clock.now()
    snapshots.publish("vllm", probes("ahead"), now + 2)
    snapshots.publish("vllm", probes("older"), now)
    assert state().taken_at == now + 2


def test_it_never_deletes_what_a_pass_reads() -> None:
    now = clock.now()
    snapshots.publish("vllm", probes("newest"), now)
    for number in range(snapshots.KEPT * 2):
        snapshots.publish("vllm", probes("late"), now - 60 - number)
    read = snapshots.latest("vllm", Probes)
    assert read is not None
    assert read.probes[0].base == "newest"
    assert Snapshot.objects.filter(source="vllm").count() == snapshots.KEPT + 1


def test_it_stores_a_failure_with_control_characters_in_it() -> None:
    """A gateway answered 502 with a gzip body."""
    snapshots.fail("vllm", "LiteLLM answers 502: \x1f\ufffd\x08\x00 binary", clock.now())
    assert state().error == "LiteLLM answers 502: \ufffd binary"
