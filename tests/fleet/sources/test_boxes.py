"""The boxes source: the tables of the box protocol as a pass reads them."""

from typing import Any

import msgspec
import pytest

from fleet.models import BoxContact, ServedConfig
from fleet.sources.boxes import fetch
from reconcile.inputs import Box, Boxes, Served, ServedServer, UnknownBox
from reconcile.view import View

pytestmark = pytest.mark.django_db


def reading() -> Boxes:
    return msgspec.json.decode(msgspec.json.encode(fetch(View())), type=Boxes)


def contact(host: str, known: bool, at: float = 2.0, **fields: Any) -> BoxContact:
    given: dict[str, Any] = {"first_at": 1.0, "last_at": at, "count": 3, "peer": "192.0.2.1"}
    return BoxContact.objects.create(host=host, known=known, **{**given, **fields})


def test_it_reads_nothing_from_empty_tables() -> None:
    assert reading() == Boxes()


def test_it_reads_what_each_box_was_given() -> None:
    box = contact("203.0.113.10", True, previous_peer="192.0.2.9", peer_changed_at=1.5)
    servers = [{"listen_port": 8001, "model": "qwen3-8b"}, {"listen_port": 8002, "model": "tiny"}]
    ServedConfig.objects.create(contact=box, revision="sha256:old", first_at=1.0, last_at=1.1, servers=[])
    ServedConfig.objects.create(contact=box, revision="sha256:new", first_at=1.2, last_at=1.9, servers=servers)
    contact("2001:db8::1", True, at=3.0)
    assert reading().boxes == (
        Box(host="2001:db8::1", seen_at=3.0, peer="192.0.2.1"),
        Box(
            host="203.0.113.10",
            seen_at=2.0,
            peer="192.0.2.1",
            peer_changed_at=1.5,
            previous_peer="192.0.2.9",
            served=(
                Served(
                    revision="sha256:new",
                    first_at=1.2,
                    last_at=1.9,
                    servers=(
                        ServedServer(listen_port=8001, model="qwen3-8b"),
                        ServedServer(listen_port=8002, model="tiny"),
                    ),
                ),
                Served(revision="sha256:old", first_at=1.0, last_at=1.1),
            ),
        ),
    )


def test_it_reads_unknown_hosts_newest_first_and_at_most_50() -> None:
    for number in range(60):
        contact(f"198.51.100.{number}", False, at=10.0 + number)
    unknown = reading().unknown
    assert len(unknown) == 50
    assert unknown[0] == UnknownBox(host="198.51.100.59", first_at=1.0, last_at=69.0, count=3, peer="192.0.2.1")


def test_it_still_tells_what_a_box_was_given_when_it_is_no_longer_known() -> None:
    box = contact("203.0.113.10", False)
    ServedConfig.objects.create(contact=box, revision="sha256:x", first_at=1.0, last_at=1.1)
    body = reading()
    assert [each.host for each in body.boxes] == [each.host for each in body.unknown] == ["203.0.113.10"]


def test_it_needs_two_queries(django_assert_num_queries: Any) -> None:
    for number in range(20):
        box = contact(f"203.0.113.{number}", True)
        ServedConfig.objects.create(contact=box, revision="sha256:x", first_at=1.0, last_at=1.1)
    with django_assert_num_queries(2):
        assert len(reading().boxes) == 20
