"""The stored passes: what pages, commands and fetchers read."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.models import Pass, Replay
from fleet.snapshots import pack, unpack
from reconcile.view import Plan, View

KEPT = 50  # besides those that can be replayed


@dataclass(frozen=True)
class Shown:
    """One pass as it was decided: its number, the time (float seconds, database's clock), view and plan."""

    id: int
    at: float
    view: View
    plan: Plan


def latest() -> Shown | None:
    """The newest pass, or None before the first."""
    return _shown(Pass.objects.order_by("-id").first())


def numbered(number: int) -> Shown | None:
    return _shown(Pass.objects.filter(pk=number).first())


def store(at: float, view: View, plan: Plan, sources: dict[str, float | None], took_s: float) -> int:
    """Keep a pass; returns its number."""
    stored = Pass.objects.create(at=at, view=pack(view), plan=pack(plan), sources=sources, took_s=took_s)
    replayed = Replay.objects.values("pass_id")
    Pass.objects.filter(id__lte=stored.id - KEPT).exclude(id__in=replayed).delete()
    return stored.id


def _shown(stored: Pass | None) -> Shown | None:
    if stored is None:
        return None
    return Shown(stored.id, stored.at, unpack(stored.view, View), unpack(stored.plan, Plan))
