"""What machines ask: does it live, and does every part of it work."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from fleet import clock
from fleet.models import Heartbeat, Lease, SourceState


def working(age_s: float = 1.0) -> None:
    """Rows as beat, the worker and the loop write them."""
    at = clock.now() - age_s
    for name in ("beat", "worker"):
        Heartbeat.objects.update_or_create(name=name, defaults={"at": at})
    Lease.objects.update_or_create(name="pass", defaults={"passed_at": at})


def readyz(client: Client) -> tuple[int, dict[str, Any]]:
    answer = client.get("/readyz")
    return answer.status_code, answer.json()


def test_it_says_that_it_lives_without_asking_the_database(client: Client) -> None:
    answer = client.get("/healthz")  # this test may not use the database: it would fail
    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_it_is_ready_when_every_part_works(client: Client) -> None:
    working()
    status, said = readyz(client)
    assert (status, said["ready"]) == (200, True)
    assert list(said) == ["ready", "database", "broker", "worker", "beat", "last_pass", "sources"]
    assert all(said[part]["ok"] for part in list(said)[1:])


@pytest.mark.django_db
def test_it_is_not_ready_before_anything_ran(client: Client) -> None:
    status, said = readyz(client)
    assert (status, said["ready"]) == (503, False)
    assert said["database"] == {"ok": True, "says": "answers"}
    assert said["worker"] == {"ok": False, "says": "the worker has run nothing yet"}
    assert said["last_pass"] == {"ok": False, "says": "no pass yet"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("part", "make_old"),
    [
        ("beat", lambda at: Heartbeat.objects.filter(name="beat").update(at=at)),
        ("worker", lambda at: Heartbeat.objects.filter(name="worker").update(at=at)),
        ("last_pass", lambda at: Lease.objects.update(passed_at=at)),
    ],
)
def test_it_names_the_part_that_stopped(client: Client, part: str, make_old: Callable[[float], int]) -> None:
    working()
    assert make_old(clock.now() - 3600) == 1
    status, said = readyz(client)
    assert status == 503
    assert [name for name in list(said)[1:] if not said[name]["ok"]] == [part]
    assert said[part]["says"].endswith("3600 s ago")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("part", "put_ahead"),
    [
        ("worker", lambda at: Heartbeat.objects.filter(name="worker").update(at=at)),
        ("last_pass", lambda at: Lease.objects.update(passed_at=at)),
        ("sources", lambda at: SourceState.objects.create(name="vllm", taken_at=at)),
    ],
)
def test_it_is_not_ready_by_times_of_a_clock_that_was_set_back(
    client: Client, part: str, put_ahead: Callable[[float], object]
) -> None:
    working()
    put_ahead(clock.now() + 3600)
    status, said = readyz(client)
    assert status == 503
    assert [name for name in list(said)[1:] if not said[name]["ok"]] == [part]
    assert "clock" in said[part]["says"]


@pytest.mark.django_db
def test_it_says_that_the_broker_is_away(client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from llmao_site.celery import app

    working()
    monkeypatch.setattr(app.conf, "broker_url", "redis://:topsecret@127.0.0.1:1/0")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["broker"] == {"ok": False, "says": "does not answer"}
    assert b"topsecret" not in answer.content


@pytest.mark.django_db
def test_it_may_not_be_cached(client: Client) -> None:
    assert "no-store" in client.get("/readyz")["Cache-Control"]


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_it_only_reads(client: Client, address: str) -> None:
    assert client.post(address).status_code == 405


def test_it_shows_figures_to_prometheus(client: Client) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert b"python_info" in answer.content
