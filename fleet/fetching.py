"""Read a source now: run its fetcher, keep the reading or the failure, and wake the loop."""

from __future__ import annotations

import logging

from django.db.models import Q

from fleet import clock, passes, snapshots
from fleet.clock import AHEAD_S, Seconds
from fleet.models import SourceState
from fleet.sources import SOURCES
from fleet.sources.base import NotConfigured, SourceError, SourceKind
from fleet.timing import intervals
from fleet.wake import send, wake
from reconcile.view import View

log = logging.getLogger(__name__)
EARLY_S = 60.0  # a listing is read early at most this often
AGAIN_S = 1.0
LONGEST_CLAIM_S = 60.0


def fetch(name: str, *, waking: bool = True) -> bool:
    """Read source `name`; True when the reading was good. Raises KeyError for a name that is no source.

    `taken_at` is the time the fetch began: what changed during it may be missing from the reading.
    """
    kind = SOURCES[name]
    started = clock.now()
    good = _read(kind, started)
    if waking:
        wake(name)
    return good


def fetch_unless_busy(name: str, since: float | None = None) -> bool:
    """`fetch`, unless another process is at it: a slow source is not asked twice at once.

    With `since` (database's clock) somebody waits for a reading taken then or later: one that is there already is
    enough, and while another process reads, the question is put again a little later, so that no news is lost.
    """
    if name not in SOURCES or (since is not None and _read_since(name, since)):
        return False
    if not _claim(name):
        if since is not None:
            send("fleet.fetch", "busy", name, since, countdown=AGAIN_S)
        return False
    try:
        return fetch(name)
    finally:
        SourceState.objects.filter(name=name).update(busy_until=0)


def due_early(name: str) -> bool:
    """Claim an early reading of a listing; False when the last one was less than 60 s ago."""
    due = Q(early_at__lt=Seconds() - EARLY_S) | Q(early_at__gt=Seconds() + AHEAD_S)
    return bool(SourceState.objects.filter(due, name=name).update(early_at=Seconds()))


def ahead() -> list[str]:
    """The sources whose stored reading lies in the future, so that nothing is decided by it."""
    found = SourceState.objects.filter(configured=True, taken_at__gt=Seconds() + AHEAD_S)
    return list(found.order_by("name").values_list("name", flat=True))


def read_what_is_ahead() -> None:
    """Send for a new reading of each of them: their own clocks may come round in hours only."""
    for name in ahead():
        send("fleet.fetch", "its reading is from the future", name)


def _read_since(name: str, since: float) -> bool:
    return SourceState.objects.filter(name=name, taken_at__gte=since, taken_at__lte=Seconds() + AHEAD_S).exists()


def _claim(name: str) -> bool:
    SourceState.objects.get_or_create(name=name)
    limit = min(LONGEST_CLAIM_S, max(5.0, 4 * intervals().get(name, 60.0)))
    idle = Q(busy_until__lt=Seconds()) | Q(busy_until__gt=Seconds() + LONGEST_CLAIM_S + AHEAD_S)
    return bool(SourceState.objects.filter(idle, name=name).update(busy_until=Seconds() + limit))


def _read(kind: SourceKind, started: float) -> bool:
    shown = passes.latest()
    try:
        body = kind.fetch(shown.view if shown else View())
    except NotConfigured:
        snapshots.not_configured(kind.name)
        return True
    except SourceError as failure:
        log.warning("source_failed source=%s error=%s", kind.name, failure.message)
        snapshots.fail(kind.name, failure.message, clock.now())
        return False
    except Exception as fault:  # the top of the loop: a fault of ours must show as a failing source, not vanish
        log.exception("source_faulty source=%s", kind.name)
        snapshots.fail(
            kind.name, f"a fault in llmao itself ({type(fault).__name__}); see the worker's log", clock.now()
        )
        return False
    snapshots.publish(kind.name, body, started)
    return True
