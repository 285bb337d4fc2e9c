"""Read a source now: run its fetcher, keep the reading or the failure, and wake the loop."""

from __future__ import annotations

import logging

from django.db.models import Q

from fleet import clock, passes, snapshots
from fleet.clock import AHEAD_S, Seconds
from fleet.models import SourceState
from fleet.sources import KINDS
from fleet.sources.base import NotConfigured, SourceError, SourceKind
from fleet.timing import intervals
from fleet.wake import send, wake
from reconcile.view import View

log = logging.getLogger(__name__)
EARLY_S = 60.0  # a listing is read early at most this often
AGAIN_S = 1.0
LONGEST_CLAIM_S = 60.0
LEEWAY_S = 60.0


def fetch(name: str, *, waking: bool = True) -> bool:
    """Read source `name`, and those of its parts that are due; True when all was good. Raises KeyError for a name
    that is no source.

    `taken_at` is the time the fetch began: what changed during it may be missing from the reading.
    """
    kind = KINDS[name]
    good = all([_fetch(kind), *map(_fetch, _due_parts(kind))])
    if waking:
        wake(kind.source)
    return good


def fetch_unless_busy(name: str, since: float | None = None) -> bool:
    """`fetch`, unless another process is at it: a slow source is not asked twice at once.

    With `since` (database's clock) somebody waits for a reading taken then or later: one that is there already is
    enough, and while another process reads, the question is put again a little later, so that no news is lost.
    """
    kind = KINDS.get(name)
    if kind is None or (since is not None and _read_since(name, since)):
        return False
    if not _claim(kind):
        if since is not None:
            send("fleet.fetch", "busy", name, since, countdown=AGAIN_S)
        return False
    try:
        if kind.part_of and not _due(kind):
            return False
        good = _fetch(kind)
    finally:
        SourceState.objects.filter(name=name).update(busy_until=0)
    wake(kind.source)
    for part in _due_parts(kind):
        send("fleet.fetch", "due", part.name)
    return good


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


def _claim(kind: SourceKind) -> bool:
    SourceState.objects.get_or_create(name=kind.name)
    limit = kind.busy_s or min(LONGEST_CLAIM_S, max(5.0, 4 * intervals().get(kind.name, 60.0)))
    longest = max(LONGEST_CLAIM_S, kind.busy_s or 0.0)
    idle = Q(busy_until__lt=Seconds()) | Q(busy_until__gt=Seconds() + longest + AHEAD_S)
    return bool(SourceState.objects.filter(idle, name=kind.name).update(busy_until=Seconds() + limit))


def _due_parts(kind: SourceKind) -> list[SourceKind]:
    return [part for part in kind.parts if _due(part)]


def _due(part: SourceKind) -> bool:
    """Whether the source's interval has passed since the part was last begun, however that ended. A fetch that comes a
    little early takes it along: the next one may be a whole interval away."""
    interval_s = intervals()[part.source]
    state = SourceState.objects.filter(name=part.name).first()
    begun_at = max(state.taken_at or 0.0, state.failed_at or 0.0) if state else 0.0
    return clock.now() - begun_at >= interval_s - min(LEEWAY_S, interval_s / 10)


def _fetch(kind: SourceKind) -> bool:
    started = clock.now()
    if kind.part_of:  # may be dear: whatever becomes of this process, it is not begun again before its time
        snapshots.fail(kind.name, "begun, and not ended", started)
    return _read(kind, started)


def _read(kind: SourceKind, started: float) -> bool:
    shown = passes.latest()
    try:
        body = kind.fetch(shown.view if shown else View())
    except NotConfigured:
        snapshots.not_configured(kind.name)
        return True
    except SourceError as failure:
        log.warning("source_failed source=%s error=%s", kind.name, failure.message)
        _failed(kind, failure.message)
        return False
    except Exception as fault:  # the top of the loop: a fault of ours must show as a failing source, not vanish
        log.exception("source_faulty source=%s", kind.name)
        _failed(kind, f"a fault in llmao itself ({type(fault).__name__}); see the worker's log")
        return False
    snapshots.publish(kind.source, body, started, kind.join)
    if kind.part_of:
        snapshots.ended_well(kind.name, started)
    return True


def _failed(kind: SourceKind, sentence: str) -> None:
    for name in {kind.name, kind.source}:
        snapshots.fail(name, sentence, clock.now())
