"""config.yaml's rows in the database: in line with the file, and written only where they differ."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from fleet import config
from fleet.mirror import mirror
from fleet.models import Host, IntendedServer
from fleet.sources import intended
from reconcile.view import View
from tests.fleet.config.files import with_fleet, write


@pytest.fixture
def edit(tmp_path: Path, settings: Any) -> Any:
    """Write other hosts into the file, and mirror them."""

    def written(hosts: str) -> None:
        settings.LLMAO_CONFIG = write(tmp_path, with_fleet(f"hosts: {hosts}"))
        mirror(config.current())

    return written


def rows(**fields: Any) -> list[tuple[Any, ...]]:
    found = IntendedServer.objects.filter(**fields)
    return sorted(found.values_list("host__address", "listen_port", "model", "label", "pinned_port"))


def intend(host: str, port: int, origin: str) -> IntendedServer:
    box, _ = Host.objects.get_or_create(address=host)
    return IntendedServer.objects.create(host=box, listen_port=port, model="qwen3-8b", origin=origin, created_by="ada")


@pytest.mark.django_db
def test_it_follows_the_file(edit: Any) -> None:
    edit("{203.0.113.10: [[qwen3-8b, 8001], [qwen3-8b, 8002, left, 40002]], '2001:db8::1': [[qwen3-8b, 8001]]}")
    assert rows(origin="config") == [
        ("2001:db8::1", 8001, "qwen3-8b", "", None),
        ("203.0.113.10", 8001, "qwen3-8b", "", None),
        ("203.0.113.10", 8002, "qwen3-8b", "left", 40002),
    ]
    first = IntendedServer.objects.get(listen_port=8002)
    assert first.created_by == "config.yaml"
    edit("{203.0.113.10: [[qwen3-8b, 8002, right]], 198.51.100.4: [[qwen3-8b, 8001]]}")
    assert rows(origin="config") == [
        ("198.51.100.4", 8001, "qwen3-8b", "", None),
        ("203.0.113.10", 8002, "qwen3-8b", "right", None),
    ]
    assert IntendedServer.objects.get(listen_port=8002).pk == first.pk
    edit("")
    assert rows() == [] and Host.objects.count() == 3


@pytest.mark.django_db
def test_it_writes_nothing_when_nothing_changed(edit: Any, django_assert_num_queries: Any) -> None:
    hosts = "{" + ", ".join(f"203.0.113.{number}: [[qwen3-8b, 8001]]" for number in range(1, 200)) + "}"
    edit(hosts)
    with django_assert_num_queries(2):
        edit(hosts)


@pytest.mark.django_db
def test_it_needs_few_queries_for_many_hosts(edit: Any, django_assert_max_num_queries: Any) -> None:
    hosts = "{" + ", ".join(f"203.0.{n // 200}.{n % 200}: [[qwen3-8b, 8001]]" for n in range(400)) + "}"
    with django_assert_max_num_queries(24):
        edit(hosts)
    assert len(rows()) == 400


@pytest.mark.django_db
def test_it_ends_the_approvals_of_a_host_that_config_names(edit: Any) -> None:
    approved, other = intend("203.0.113.10", 8009, "approval"), intend("198.51.100.4", 8001, "approval")
    admins = intend("203.0.113.10", 8010, "admin")
    edit("{203.0.113.10: [[qwen3-8b, 8001]]}")
    for row in (approved, other, admins):
        row.refresh_from_db()
    assert approved.ended_at is not None and approved.ended_by == "config.yaml" and approved.created_by == "ada"
    assert (other.ended_at, admins.ended_at) == (None, None)
    ended_at = approved.ended_at
    edit("{203.0.113.10: [[qwen3-8b, 8002]]}")
    approved.refresh_from_db()
    assert approved.ended_at == ended_at
    edit("")
    approved.refresh_from_db()
    assert approved.ended_at == ended_at


@pytest.mark.django_db(transaction=True)
def test_it_does_it_once_when_two_processes_read_at_once(edit: Any, tmp_path: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = write(
        tmp_path, with_fleet("hosts: {203.0.113.10: [[qwen3-8b, 8001]], 203.0.113.11: [[qwen3-8b, 8001]]}")
    )
    wanted = config.current()

    def one(_number: int) -> None:
        try:
            mirror(wanted)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(12)))
    assert len(rows(origin="config")) == 2


@pytest.mark.django_db
def test_it_says_what_config_drops_or_moves_when_it_takes_an_approved_box_over(edit: Any) -> None:
    intend("203.0.113.10", 8009, "approval")
    edit("{203.0.113.10: [[qwen3-8b, 8001]]}")
    fetched = intended.fetch(View())
    assert [(each.host, each.listen_port, each.model) for each in fetched.ended] == [("203.0.113.10", 8009, "qwen3-8b")]
