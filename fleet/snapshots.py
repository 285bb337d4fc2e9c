"""Readings on their way in and out: `publish` and `fail` are all that a fetcher does to the database."""

from __future__ import annotations

import zlib
from typing import Any, TypeVar

import msgspec
from django.db import transaction
from django.db.models import Q

from fleet.models import Snapshot, SourceState

KEPT = 20  # snapshots of each source; the newest is what a pass reads
T = TypeVar("T")


def pack(body: msgspec.Struct) -> bytes:
    """A struct as compressed JSON."""
    return zlib.compress(msgspec.json.encode(body), 1)


def unpack(data: bytes | memoryview, kind: type[T]) -> T:
    """The inverse of `pack`. Raises msgspec.ValidationError when the stored body is of another shape."""
    return msgspec.json.decode(zlib.decompress(data), type=kind)


def publish(source: str, body: msgspec.Struct, taken_at: float) -> None:
    """Store a good reading and clear the source's failure. An older reading than the stored one changes nothing."""
    with transaction.atomic():
        SourceState.objects.get_or_create(name=source)
        snapshot = Snapshot.objects.create(source=source, taken_at=taken_at, body=pack(body))
        newer = Q(taken_at=None) | Q(taken_at__lte=taken_at)
        SourceState.objects.filter(newer, name=source).update(
            snapshot=snapshot, taken_at=taken_at, failed_at=None, error="", configured=True
        )
    _prune(source)


def fail(source: str, sentence: str, at: float) -> None:
    """Record a failed fetch beside the last good reading, which stays. One older than that reading says nothing."""
    SourceState.objects.get_or_create(name=source)
    older = Q(taken_at=None) | Q(taken_at__lt=at)
    SourceState.objects.filter(older, name=source).update(failed_at=at, error=sentence[:2000], configured=True)


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
    """The body of the source's last good reading."""
    state = SourceState.objects.select_related("snapshot").filter(name=source).first()
    return unpack(state.snapshot.body, kind) if state and state.snapshot else None


def _prune(source: str) -> None:
    kept = Snapshot.objects.filter(source=source).order_by("-id").values_list("id", flat=True)[KEPT : KEPT + 1]
    for oldest in kept:
        Snapshot.objects.filter(source=source, id__lte=oldest).delete()


def stored(state: SourceState, kind: Any) -> Any:
    """The body that `state` points to, decoded as `kind`, or None."""
    return unpack(state.snapshot.body, kind) if state.snapshot else None
