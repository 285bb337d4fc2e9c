"""What is remembered of boxes that ask: and how little it costs."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from fleet import clock, contacts, seldom
from fleet.models import BoxContact, ServedConfig
from tests.fleet.config.files import with_fleet, write

HOST = "203.0.113.10"


@pytest.fixture
def config(tmp_path: Path, settings: Any) -> Path:
    settings.LLMAO_CONFIG = write(
        tmp_path, with_fleet(f"hosts:\n  {HOST}: [[qwen3-8b, 8001]]", "server: {trusted_proxies: [127.0.0.0/8]}\n")
    )
    return tmp_path / "config.yaml"


def ask(host: str = HOST, peer: str = "192.0.2.1", etag: str = "") -> Any:
    headers = {
        "Authorization": "Bearer fleet-key",
        "X-LLMAO-Host": host,
        "X-Forwarded-For": peer,
        **({"If-None-Match": etag} if etag else {}),
    }
    return Client().get("/vllm/config", headers=headers)


@pytest.mark.django_db
def test_it_tells_served_from_seen(config: Path) -> None:
    etag = ask()["ETag"]
    first = ServedConfig.objects.get()
    assert [(each["listen_port"], each["model"]) for each in first.servers] == [(8001, "qwen3-8b")]
    assert first.first_at == first.last_at and first.revision == etag.strip('"')
    assert ask(etag=etag).status_code == 304
    assert ServedConfig.objects.get().last_at == first.last_at
    contact = BoxContact.objects.get()
    assert contact.count == 2 and contact.last_at > contact.first_at
    ask()
    again = ServedConfig.objects.get()
    assert again.first_at == first.first_at and again.last_at > first.last_at


@pytest.mark.django_db
def test_it_starts_a_revision_anew_when_it_comes_back(config: Path) -> None:
    ask()
    first = ServedConfig.objects.get()
    text = config.read_text()
    config.write_text(text.replace("8001", "8002"))
    ask()
    config.write_text(text)
    ask()
    back = ServedConfig.objects.get(revision=first.revision)
    assert ServedConfig.objects.count() == 2 and back.first_at > first.last_at


@pytest.mark.django_db
def test_it_keeps_the_20_newest_revisions(config: Path) -> None:
    text = config.read_text()
    for port in range(9001, 9025):
        config.write_text(text.replace("8001", str(port)))
        ask()
    kept = ServedConfig.objects.order_by("-last_at").values_list("servers", flat=True)
    assert [servers[0]["listen_port"] for servers in kept] == list(range(9024, 9004, -1))


@pytest.mark.django_db
def test_it_wakes_the_loop_only_for_news(config: Path, django_capture_on_commit_callbacks: Any) -> None:
    def woken(**said: str) -> int:
        with django_capture_on_commit_callbacks() as callbacks:
            woken.answer = ask(**said)  # type: ignore[attr-defined]
        return len(callbacks)

    assert woken() == 1
    etag = woken.answer["ETag"]  # type: ignore[attr-defined]
    assert woken() == 0
    assert woken(etag=etag) == 0
    assert woken(etag=etag, peer="192.0.2.2") == 1
    assert woken(etag=etag, peer="192.0.2.2") == 0
    assert woken(host="198.51.100.7") == 1
    assert woken(host="198.51.100.7") == 0
    config.write_text(config.read_text().replace("8001", "8002"))
    assert woken(peer="192.0.2.2") == 1


@pytest.mark.django_db
def test_it_asks_for_the_boxes_source(config: Path, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks() as (*callbacks,):
        pass
    before = clock.now()
    with django_capture_on_commit_callbacks() as callbacks:
        ask()
    *task, since = callbacks[0].args
    assert task == ["fleet.fetch", "a box asked", "boxes"]
    assert before <= since <= clock.now(), "a reading that began before it asked does not know of it"


@pytest.mark.django_db
def test_it_costs_few_queries(config: Path, django_assert_num_queries: Any) -> None:
    etag = ask()["ETag"]
    with django_assert_num_queries(5):  # rows, retired, contact, update, what it was given
        assert ask(etag=etag).status_code == 304
    with django_assert_num_queries(6):  # and the newest revision, its update
        assert ask().status_code == 200
    ask("198.51.100.7")
    with django_assert_num_queries(4):
        assert ask("198.51.100.7").status_code == 404


@pytest.mark.django_db
def test_it_notes_a_change_of_peer(config: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask(peer="192.0.2.1")
    assert BoxContact.objects.get().peer_changed_at is None
    with caplog.at_level(logging.WARNING, "fleet.contacts"):
        ask(peer="192.0.2.2")
    contact = BoxContact.objects.get()
    assert (contact.peer, contact.previous_peer) == ("192.0.2.2", "192.0.2.1")
    assert contact.peer_changed_at == pytest.approx(contact.last_at, abs=5)
    assert "box_peer_changed host=203.0.113.10 peer=192.0.2.2 before=192.0.2.1" in caplog.text


@pytest.mark.django_db
def test_it_logs_claims_with_their_peer_and_without_a_secret(config: Path, caplog: pytest.LogCaptureFixture) -> None:
    seldom.forget()
    with caplog.at_level(logging.DEBUG):
        etag = ask()["ETag"]
        ask("198.51.100.7")
        ask(HOST, peer=HOST)
        ask(etag=etag)
        Client().get("/vllm/config", headers={"Authorization": "Bearer hunter2"})
    claims = [record.getMessage() for record in caplog.records if record.name == "fleet.boxes"]
    assert claims == [
        "box_claim host=203.0.113.10 peer=192.0.2.1 status=200",
        "box_refused host=198.51.100.7 peer=192.0.2.1 status=404",
        "box_refused host=unknown peer=127.0.0.1 status=401",
    ]
    assert "fleet-key" not in caplog.text and "sk-vllm-" not in caplog.text and "hunter2" not in caplog.text


@pytest.mark.django_db
def test_it_remembers_the_50_newest_unknown_hosts(config: Path) -> None:
    ask()
    for number in range(60):
        ask(f"198.51.100.{number}")
    kept = list(BoxContact.objects.filter(known=False).order_by("last_at").values_list("host", flat=True))
    assert kept == [f"198.51.100.{number}" for number in range(10, 60)]
    assert BoxContact.objects.filter(known=True).count() == 1


@pytest.mark.django_db
def test_it_turns_a_known_host_into_an_unknown_one(config: Path) -> None:
    ask()
    config.write_text(with_fleet(""))
    assert ask().status_code == 404
    contact = BoxContact.objects.get()
    assert (contact.known, contact.count, contact.served.count()) == (False, 2, 1)


@pytest.mark.django_db(transaction=True)
def test_it_counts_right_when_many_ask_at_once(config: Path) -> None:
    def one(number: int) -> int:
        try:
            return int(ask(peer=f"192.0.2.{1 + number % 2}").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(one, range(40)))
    contact = BoxContact.objects.get()
    assert statuses == [200] * 40 and contact.count == 40 and contact.served.count() == 1
    assert {contact.peer, contact.previous_peer} == {"192.0.2.1", "192.0.2.2"}


@pytest.mark.django_db(transaction=True)
def test_it_keeps_50_when_many_unknown_hosts_ask_at_once(config: Path) -> None:
    def one(number: int) -> int:
        try:
            return int(ask(f"198.51.100.{number}").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(80))) == [404] * 80
    assert BoxContact.objects.count() <= contacts.MOST_UNKNOWN + 8
    ask("198.51.100.200")
    assert BoxContact.objects.count() == contacts.MOST_UNKNOWN
