"""What people want: config.yaml and models.yaml, rows from the admin and from Approve, labels, approvals, policy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils import timezone

from fleet import assignment, config, keys, models, snapshots
from fleet.assignment import Assigned
from fleet.config import Config, ConfigErrors, ModelRow, allowed_host
from fleet.mirror import BY, mirror
from fleet.sources.base import SourceError, SourceKind
from reconcile.identity import Key, address_url, box_name, canonical_host
from reconcile.inputs import Approval, Ended, HostLabel, Intended, Listing, Model, Server
from reconcile.view import View

NO_SERVER = 22  # a box's SSH port: mapped on every rented box


def fetch(_view: View) -> Intended:
    """One reading of all of it. Raises SourceError with every mistake of the files, and of rows they leave alone."""
    try:
        configuration = config.current()
    except ConfigErrors as errors:
        raise SourceError(errors.message) from errors
    assigned = assignment.of_all(configuration)
    if wrong := assignment.wrong_with(configuration, assigned):
        raise SourceError("\n".join(wrong))
    mirror(configuration)
    return _intended(configuration, assigned)


SOURCE = SourceKind("intended", Intended, "intended", fetch)


def _intended(configuration: Config, assigned: list[Assigned]) -> Intended:
    labels = _labels()
    taken = {row.host for row in assigned} | {each.host for each in labels if each.label == "retired"}
    listings = _listings(configuration)
    return Intended(
        servers=tuple(_server(configuration, row) for row in assigned),
        models=tuple(_model(configuration, row) for row in configuration.models),
        labels=labels,
        approvals=_approvals(),
        discovered_key_hashes=dict(_discovered(configuration, listings, taken)),
        listings=listings,
        ended=_ended(),
        settings=configuration.settings(),
    )


def _server(configuration: Config, row: Assigned) -> Server:
    place = (row.host, row.listen_port)
    return Server(
        host=row.host,
        listen_port=row.listen_port,
        model=row.model,
        label=row.label,
        pinned_port=row.pinned_port,
        origin=row.origin,
        key_hash=keys.server_key_hash(configuration, *place),
        open_allowed=place in configuration.fleet.open_servers,
        legacy=place in configuration.fleet.legacy_servers,
    )


def _model(configuration: Config, row: ModelRow) -> Model:
    params: dict[str, Any] = keys.hashed(row.params, configuration.salt)
    return Model(
        name=row.name,
        self_hosted=row.self_hosted,
        params=params,
        info=row.info,
        weights=row.vllm.model if row.vllm else "",
        provider=row.provider,
        max_model_len=row.vllm.max_model_len if row.vllm else None,
        context_window=row.shown.get("context_window"),
        shown=row.shown,
    )


def _labels() -> tuple[HostLabel, ...]:
    rows = models.HostLabel.objects.order_by("host__address", "label")
    return tuple(
        HostLabel(host=canonical_host(host), label=label, at=at.timestamp(), by=by)  # type: ignore[arg-type]
        for host, label, at, by in rows.values_list("host__address", "label", "at", "by")
    )


def _approvals() -> tuple[Approval, ...]:
    """What was approved, neither used nor taken back; how long one counts is not decided here."""
    rows = models.Approval.objects.filter(spent_at=None, withdrawn_at=None).order_by("at", "id")
    return tuple(
        Approval(digest=digest, kind=kind, key=Key(url, model), at=at, by=by)  # type: ignore[arg-type]
        for digest, kind, url, model, at, by in rows.values_list("digest", "kind", "key_url", "key_model", "at", "by")
    )


def _ended() -> tuple[Ended, ...]:
    """Approved servers that config.yaml took over within the last day."""
    ended = models.IntendedServer.objects.filter(origin="approval", ended_by=BY)
    rows = ended.filter(ended_at__gt=timezone.now() - timedelta(days=1)).order_by("host__address", "listen_port", "id")
    return tuple(
        Ended(host=canonical_host(host), listen_port=port, model=model, at=at.timestamp())
        for host, port, model, at in rows.values_list("host__address", "listen_port", "model", "ended_at")
        if at is not None
    )


def _listings(configuration: Config) -> tuple[str, ...]:
    fleet = configuration.fleet
    return tuple(name for name, section in (("vast", fleet.vast), ("runpod", fleet.runpod)) if section)


def _discovered(configuration: Config, listings: tuple[str, ...], taken: set[str]) -> Iterator[tuple[str, str]]:
    """("host:listen_port", key hash) of what listed hosts map that nobody intended: should a box of ours run there,
    that is its key."""
    for provider in listings:
        for instance in (snapshots.latest(provider, Listing) or Listing()).instances:
            if instance.host and instance.host not in taken and allowed_host(configuration, instance.host):
                for port in sorted(instance.ports.keys() - {NO_SERVER}):
                    name = box_name(address_url(instance.host, port))
                    yield name, keys.server_key_hash(configuration, instance.host, port)
