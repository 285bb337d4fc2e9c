"""Which servers are wanted on which host: config.yaml, rows from the admin and approvals, put together by one rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from fleet.config import Config
from fleet.config.addresses import refused_because
from fleet.models import HostLabel, IntendedServer
from reconcile.identity import canonical_host
from reconcile.inputs import Origin


@dataclass(frozen=True)
class Assigned:
    """One wanted server, as its row says."""

    host: str
    listen_port: int
    model: str
    label: str
    pinned_port: int | None
    origin: Origin

    def __str__(self) -> str:
        return f"{self.host}:{self.listen_port}"


def of_all(config: Config) -> list[Assigned]:
    """Every wanted server, by host and port. Two queries."""
    labels = HostLabel.objects.filter(label="retired")
    return _merged(config_rows(config), _stored(_standing()), _hosts(labels))


def of_host(config: Config, host: str) -> list[Assigned]:
    """The servers wanted on one host. Two queries."""
    rows = [row for row in config_rows(config) if row.host == host]
    labels = HostLabel.objects.filter(label="retired", host__address=host)
    return _merged(rows, _stored(_standing().filter(host__address=host)), _hosts(labels))


def config_rows(config: Config) -> list[Assigned]:
    """The rows of config.yaml."""
    return [
        Assigned(row.host, row.listen_port, row.model, row.label, row.public_port, "config")
        for row in config.fleet.hosts
    ]


def wrong_with(config: Config, assigned: Iterable[Assigned]) -> list[str]:
    """Sentences about rows from the admin or Approve that the present configuration cannot carry out."""
    return [sentence for row in assigned if (sentence := _wrong_with(config, row))]


def _wrong_with(config: Config, row: Assigned) -> str:
    made_by = "the row that Approve made" if row.origin == "approval" else "the admin's row"
    if refused := refused_because(row.host):
        return f"{made_by} for {row} is for an address that {refused}: end it in the admin"
    if config.self_hosted(row.model) is None:
        return (
            f"{made_by} for {row} names {row.model}, which is no self-hosted model of models.yaml:"
            " add the model there, or end the row in the admin"
        )
    return ""


def _standing() -> QuerySet[IntendedServer]:
    return IntendedServer.objects.filter(ended_at=None).exclude(origin="config")


def _stored(rows: QuerySet[IntendedServer]) -> list[Assigned]:
    fields = ("host__address", "listen_port", "model", "label", "pinned_port", "origin")
    return [Assigned(canonical_host(host), *rest) for host, *rest in rows.values_list(*fields)]


def _hosts(labels: QuerySet[HostLabel]) -> set[str]:
    return {canonical_host(host) for host in labels.values_list("host__address", flat=True)}


def _merged(configured: list[Assigned], stored: list[Assigned], retired: set[str]) -> list[Assigned]:
    """For one host and port config comes first, then the admin, then approvals. A host that config names has no
    approvals: config took it over. A retired host has nothing."""
    named = {row.host for row in configured}
    admin = [row for row in stored if row.origin == "admin"]
    approved = [row for row in stored if row.origin == "approval" and row.host not in named]
    found: dict[tuple[str, int], Assigned] = {}
    for row in (*configured, *admin, *approved):
        found.setdefault((row.host, row.listen_port), row)
    return [found[place] for place in sorted(found) if place[0] not in retired]
