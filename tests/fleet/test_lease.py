"""The lease on the database's clock: one holder, no wake-up lost, two configurations noticed."""

import multiprocessing
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from django.db import connection, connections

from fleet import clock, lease
from fleet.lease import Held, LeaseLost
from fleet.models import Lease


@pytest.fixture(autouse=True)
def no_past() -> Iterator[None]:
    lease._last_hash.clear()
    yield
    lease._last_hash.clear()


def taken(config_hash: str = "one") -> Held:
    held = lease.take(config_hash)
    assert held is not None
    return held


@pytest.mark.django_db
def test_it_is_held_by_one_at_a_time() -> None:
    held = taken()
    assert lease.take("one") is None
    held.drop()
    assert lease.take("one") is not None


@pytest.mark.django_db
def test_it_can_be_taken_when_its_term_is_over() -> None:
    old = taken()
    Lease.objects.update(until=clock.now() - 1)
    new = taken()
    assert not old.renew()
    assert new.renew()
    with pytest.raises(LeaseLost, match="ran out during the pass"):
        old.passed()


@pytest.mark.django_db
def test_it_can_be_taken_when_its_clock_was_set_back() -> None:
    """By an hour: a term that would last an hour was given by the clock before, and its holder may be dead."""
    old = taken()
    Lease.objects.update(
        until=clock.now() + 3600, passed_at=clock.now() + 3600, two_configurations_at=clock.now() + 3600
    )
    new = taken("another")
    assert not old.renew()
    assert new.renew()
    assert new.two_configurations_at is None


@pytest.mark.django_db
def test_it_lasts_sixty_seconds_from_each_renewal() -> None:
    held = taken()
    Lease.objects.update(until=clock.now() + 2)
    assert held.renew()
    assert Lease.objects.get().until == pytest.approx(clock.now() + 60, abs=5)


@pytest.mark.django_db
def test_it_is_not_given_back_when_somebody_knocked_meanwhile() -> None:
    held = taken()
    seen = lease.wanted()
    lease.count_wake_up()
    assert not held.give_back(seen)
    assert held.renew(), "it goes round again under the same lease"
    assert held.give_back(lease.wanted())
    assert not held.renew()


@pytest.mark.django_db
def test_it_counts_wake_ups_before_the_first_pass_too() -> None:
    assert lease.wanted() == 0
    lease.count_wake_up()
    lease.count_wake_up()
    assert lease.wanted() == 2


@pytest.mark.django_db
def test_it_notices_two_configurations_that_take_turns() -> None:
    taken("ours").passed()
    Lease.objects.update(holder="elsewhere:1:aa", config_hash="theirs", passed_at=clock.now(), until=0)
    assert taken("ours").two_configurations_at == pytest.approx(clock.now(), abs=5)


@pytest.mark.django_db
def test_it_does_not_take_an_edit_of_the_files_for_two_configurations() -> None:
    taken("before").passed()
    Lease.objects.update(holder="", config_hash="after", passed_at=clock.now(), until=0)  # a sister process, edited
    assert taken("after").two_configurations_at is None
    Lease.objects.update(holder="", until=0)
    assert taken("edited again").two_configurations_at is None


def contend(database: dict[str, object], results: "multiprocessing.Queue[tuple[float, float]]") -> None:
    """One process that takes the lease five times and notes from when to when it had it."""
    connections["default"].close()
    connections.settings["default"] = database  # the test's own database
    had = 0
    while had < 5:
        held = lease.take("one")
        if held is None:
            time.sleep(0.002)
            continue
        start = time.monotonic()
        time.sleep(0.005)
        results.put((start, time.monotonic()))
        held.drop()
        had += 1


@pytest.mark.django_db(transaction=True)
def test_it_never_lets_two_processes_decide_at_once() -> None:
    lease.count_wake_up()
    settings = dict(connection.settings_dict)
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[tuple[float, float]] = context.Queue()
    connection.close()
    others = [context.Process(target=contend, args=(settings, results), daemon=True) for _ in range(4)]
    for each in others:
        each.start()
    spans = sorted(results.get(timeout=60) for _ in range(20))
    for each in others:
        each.join(timeout=20)
        assert each.exitcode == 0
    overlaps = [(one, two) for one, two in pairwise(spans) if two[0] < one[1]]
    assert overlaps == []
