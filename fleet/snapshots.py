"""Readings on their way in and out: `publish` and `fail` are all that a fetcher does to the database."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from django.db import transaction
from django.db.models import Q

from fleet.clock import AHEAD_S, Seconds
from fleet.models import Snapshot, SourceState
from litellm_sync.sentences import printable

KEPT = 20  # snapshots of each source; the newest is what a pass reads
T = TypeVar("T")


def pack(body: msgspec.Struct) -> bytes:
    """A struct as compressed JSON."""
    return zlib.compress(msgspec.json.encode(body), 1)


def unpack(data: bytes | memoryview, kind: type[T]) -> T:
    """The inverse of `pack`. Raises msgspec.ValidationError when the stored body is of another shape."""
    return msgspec.json.decode(zlib.decompress(data), type=kind)


Join = Callable[[Any, Any], msgspec.Struct]


def publish(source: str, body: msgspec.Struct, taken_at: float, join: Join | None = None) -> None:
    """Store a good reading and clear the source's failure. An older reading than the stored one changes nothing,
    unless the stored one lies in the future; with `join` the two become one, as new as the newer: nobody's reading is
    lost when two end in the wrong order."""
    with transaction.atomic():
        SourceState.objects.get_or_create(name=source)
        if join is not None:
            body, taken_at = _joined(source, body, taken_at, join)
        snapshot = Snapshot.objects.create(source=source, taken_at=taken_at, body=pack(body))
        older = Q(taken_at__lte=taken_at) | _none_or_ahead()
        SourceState.objects.filter(older, name=source).update(
            snapshot=snapshot, taken_at=taken_at, failed_at=None, error="", configured=True
        )
    _prune(source)


def _joined(source: str, body: msgspec.Struct, taken_at: float, join: Join) -> tuple[msgspec.Struct, float]:
    state = SourceState.objects.select_for_update().get(name=source)
    held = _readable(state.snapshot, type(body))
    return join(held, body), max(taken_at, state.taken_at or 0.0)


def ended_well(part: str, began_at: float) -> None:
    """Note that a part of a source was read; the reading itself is the source's."""
    SourceState.objects.filter(name=part).update(taken_at=began_at, failed_at=None, error="")


def fail(source: str, sentence: str, at: float) -> None:
    """Record a failed fetch beside the last good reading, which stays. One older than that reading says nothing."""
    SourceState.objects.get_or_create(name=source)
    older = Q(taken_at__lt=at) | _none_or_ahead()
    error = printable(sentence)[:2000]
    SourceState.objects.filter(older, name=source).update(failed_at=at, error=error, configured=True)


def not_configured(source: str) -> None:
    """A provider without an API key is no source at all; what it once said is forgotten."""
    SourceState.objects.update_or_create(
        name=source, defaults={"configured": False, "snapshot": None, "taken_at": None, "failed_at": None, "error": ""}
    )


def hold(source: str, until: float) -> None:
    """Note that nothing may be asked of the source before `until`."""
    SourceState.objects.update_or_create(name=source, defaults={"not_before": until})


def held_until(source: str) -> float:
    """The time noted by `hold`; long ago when there is none."""
    return SourceState.objects.filter(name=source).values_list("not_before", flat=True).first() or 0.0


def latest(source: str, kind: type[T]) -> T | None:
    """The body of the source's last good reading; None when there is none, and for one that another version wrote: it
    is read again at the next fetch."""
    state = SourceState.objects.select_related("snapshot").filter(name=source).first()
    return _readable(state.snapshot, kind) if state else None


def _readable(snapshot: Snapshot | None, kind: type[T]) -> T | None:
    try:
        return unpack(snapshot.body, kind) if snapshot else None
    except msgspec.DecodeError:
        return None


def _none_or_ahead() -> Q:
    return Q(taken_at=None) | Q(taken_at__gt=Seconds() + AHEAD_S)


def _prune(source: str) -> None:
    """Delete all but the newest, and never the one that passes read."""
    kept = Snapshot.objects.filter(source=source).order_by("-id").values_list("id", flat=True)[KEPT : KEPT + 1]
    for oldest in kept:
        Snapshot.objects.filter(source=source, id__lte=oldest, sourcestate=None).delete()


def stored(state: SourceState, kind: Any) -> Any:
    """The body that `state` points to, decoded as `kind`, or None."""
    return unpack(state.snapshot.body, kind) if state.snapshot else None
