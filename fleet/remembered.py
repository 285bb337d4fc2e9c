"""The history on its way in and out of the database: one row, and one row per placed host."""

from __future__ import annotations

import msgspec
from django.db import transaction
from msgspec.structs import replace

from fleet import models
from fleet.snapshots import pack, unpack
from reconcile.history import History, PlacedHost, begin

ROW = "history"


def load(now: float, keep_s: float, *, afresh: bool = False) -> History:
    """The last pass's history while that pass is younger than `keep_s`, whichever process ran it; else an empty one
    that knows only who placed which host."""
    placed = tuple(
        PlacedHost(each.host, each.provider, each.instance, each.listed_at, each.once_intended)
        for each in models.PlacedHost.objects.order_by("host")
    )
    row = None if afresh else models.Memory.objects.filter(name=ROW).first()
    if row is None or not 0 <= now - row.passed_at <= keep_s:
        return begin(now, placed)
    try:
        return replace(unpack(row.body, History), placed=placed)
    except msgspec.DecodeError:  # written by another version
        return begin(now, placed)


def save(history: History, before: tuple[PlacedHost, ...]) -> None:
    """Keep what the pass remembers; of placed hosts only what changed is written."""
    with transaction.atomic():
        models.Memory.objects.update_or_create(
            name=ROW, defaults={"body": pack(replace(history, placed=())), "passed_at": history.passed_at}
        )
        _save_placed(history.placed, before)


def _save_placed(after: tuple[PlacedHost, ...], before: tuple[PlacedHost, ...]) -> None:
    known = {each.host: each for each in before}
    changed = [each for each in after if known.get(each.host) != each]
    gone = known.keys() - {each.host for each in after}
    models.PlacedHost.objects.filter(host__in=gone).delete()
    for each in changed:
        models.PlacedHost.objects.update_or_create(host=each.host, defaults=_columns(each))


def _columns(place: PlacedHost) -> dict[str, object]:
    columns = msgspec.structs.asdict(place)
    del columns["host"]
    return columns
