"""config.yaml in the database: its rows stand beside those that people made, read-only, so that pages and joins see
one table. Only what changed is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from fleet import assignment
from fleet.assignment import Assigned
from fleet.config import Config
from fleet.models import Host, IntendedServer, SourceState
from reconcile.identity import canonical_host

BY = "config.yaml"


@dataclass(frozen=True)
class _Difference:
    """What the table lacks (`new`), has otherwise (`changed`, by row id) or has too much; approvals that end."""

    new: list[Assigned]
    changed: dict[int, Assigned]
    gone: list[int]
    ended: list[int]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone or self.ended)


def mirror(config: Config) -> None:
    """Bring the rows of origin "config" in line; end the approvals of hosts that config names. Two queries when
    nothing changed."""
    if not _difference(config):
        return
    with transaction.atomic():
        # Two processes may read the files at once: the second waits here, and then finds nothing to do.
        SourceState.objects.get_or_create(name="intended")
        SourceState.objects.select_for_update().get(name="intended")
        _write(_difference(config))


def _difference(config: Config) -> _Difference:
    wanted = {(row.host, row.listen_port): row for row in assignment.config_rows(config)}
    named = {row.host for row in wanted.values()}
    fields = ("id", "host__address", "listen_port", "model", "label", "pinned_port")
    standing = {
        (canonical_host(host), port): (number, Assigned(canonical_host(host), port, model, label, pinned, "config"))
        for number, host, port, model, label, pinned in _standing("config").values_list(*fields)
    }
    approvals = _standing("approval").values_list("id", "host__address")
    return _Difference(
        new=[row for place, row in wanted.items() if place not in standing],
        changed={number: wanted[at] for at, (number, row) in standing.items() if at in wanted and wanted[at] != row},
        gone=[number for at, (number, _) in standing.items() if at not in wanted],
        ended=[number for number, host in approvals if canonical_host(host) in named],
    )


def _standing(origin: str) -> QuerySet[IntendedServer]:
    return IntendedServer.objects.filter(origin=origin, ended_at=None).order_by()


def _write(difference: _Difference) -> None:
    IntendedServer.objects.filter(pk__in=difference.gone).delete()
    IntendedServer.objects.filter(pk__in=difference.ended).update(ended_at=timezone.now(), ended_by=BY)
    hosts = _hosts({row.host for row in difference.new})
    IntendedServer.objects.bulk_create(
        IntendedServer(host_id=hosts[row.host], created_by=BY, listen_port=row.listen_port, **_fields(row))
        for row in difference.new
    )
    changed = [IntendedServer(pk=number, **_fields(row)) for number, row in difference.changed.items()]
    IntendedServer.objects.bulk_update(changed, ["model", "label", "pinned_port"])


def _fields(row: Assigned) -> dict[str, Any]:
    return {"model": row.model, "label": row.label, "pinned_port": row.pinned_port, "origin": row.origin}


def _hosts(addresses: set[str]) -> dict[str, int]:
    """Address → id of the host's row, which is made where it is missing."""
    Host.objects.bulk_create([Host(address=address) for address in sorted(addresses)], ignore_conflicts=True)
    rows = Host.objects.filter(address__in=addresses).order_by().values_list("address", "id")
    return {canonical_host(address): number for address, number in rows}
