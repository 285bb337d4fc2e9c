"""The snapshots of one pass, out of the database."""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.models import SourceState
from fleet.snapshots import unpack
from fleet.sources import LISTINGS, SOURCES
from fleet.timing import intervals
from reconcile.inputs import Intended, Snapshots, Source


def load(other_configuration_at: float | None = None) -> Snapshots:
    """One reading of every source; a provider with an API key that was never read is there, unread."""
    states = {state.name: state for state in SourceState.objects.select_related("snapshot")}
    timetable = intervals()
    found = {name: _source(name, states.get(name), timetable) for name in SOURCES}
    intended: Source[Intended] = found["intended"]
    configured = intended.body.listings if intended.body else ()
    return Snapshots(
        intended=intended,
        boxes=found["boxes"],
        vllm=found["vllm"],
        deployments=found["deployments"],
        litellm_health=found["litellm_health"],
        attempts=found["attempts"],
        listings={name: found[name] for name in LISTINGS if name in configured},
        other_configuration_at=other_configuration_at,
    )


def taken_at(snapshots: Snapshots) -> dict[str, float | None]:
    """Source name -> the time of the reading that this pass used."""
    named = {name: getattr(snapshots, name) for name in SOURCES if name not in LISTINGS} | snapshots.listings
    return {name: source.taken_at for name, source in named.items()}


def _source(name: str, state: SourceState | None, timetable: dict[str, float]) -> Source[Any]:
    interval_s = timetable.get(name, 60.0)
    if state is None:
        return Source(interval_s=interval_s)
    return Source(
        interval_s=interval_s,
        body=_body(name, state),
        taken_at=state.taken_at,
        failed_at=state.failed_at,
        error=state.error,
    )


def _body(name: str, state: SourceState) -> Any:
    if state.snapshot is None:
        return None
    try:
        return unpack(state.snapshot.body, SOURCES[name].body)
    except msgspec.DecodeError:  # written by another version: read again at the next fetch
        return None
