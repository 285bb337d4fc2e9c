"""The lease: one process on one machine decides and writes at a time, on the database's clock."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from fleet.clock import AHEAD_S, Seconds, now
from fleet.models import Lease

TERM_S = 60.0
ROW = "pass"
_last_hash: dict[str, str] = {}  # the configuration under which this process last held the lease


class LeaseLost(Exception):
    """The lease ran out under its holder: whatever it was about to store or send must not happen."""


@dataclass(frozen=True)
class Held:
    """A lease that this process holds. `two_configurations_at` is when two configurations last took turns."""

    holder: str
    two_configurations_at: float | None
    edited: bool = False  # the configuration is not the one of the holder before

    def renew(self) -> bool:
        """Another term; False when it ran out, and possibly somebody else has it."""
        return bool(self._mine().filter(until__gt=Seconds()).update(until=Seconds() + TERM_S))

    def passed(self) -> None:
        """Note that a pass is being stored, in the caller's transaction. Raises LeaseLost."""
        if not self._mine().filter(until__gt=Seconds()).update(until=Seconds() + TERM_S, passed_at=Seconds()):
            raise LeaseLost("the lease ran out during the pass; nothing of it was stored or sent")

    def give_back(self, seen: int) -> bool:
        """Give it back, unless a wake-up came since `seen` was read: then the holder goes round again."""
        return bool(self._mine().filter(wanted=seen).update(holder="", until=0))

    def drop(self) -> None:
        """Give it back whatever came."""
        self._mine().update(holder="", until=0)

    def _mine(self) -> QuerySet[Lease]:
        return Lease.objects.filter(name=ROW, holder=self.holder)


def process() -> str:
    """This process: machine and pid."""
    return f"{socket.gethostname()}:{os.getpid()}"


def take(config_hash: str) -> Held | None:
    """The lease, or None while somebody holds it. Of any number of callers at once, one gets it. A term that ends
    later than any can was given before the clock was set back, and is over."""
    holder = f"{process()}:{secrets.token_hex(4)}"
    before, _ = Lease.objects.get_or_create(name=ROW)
    over = Q(until__lte=Seconds()) | Q(until__gt=Seconds() + TERM_S + AHEAD_S)
    free = Lease.objects.filter(Q(holder="") | over, name=ROW)
    if not free.update(holder=holder, until=Seconds() + TERM_S, config_hash=config_hash):
        return None
    conflict_at = _unless_ahead(before.two_configurations_at)
    if _took_turns(config_hash, before.config_hash, before.passed_at):
        conflict_at = now()
        Lease.objects.filter(name=ROW, holder=holder).update(two_configurations_at=conflict_at)
    _last_hash[ROW] = config_hash
    return Held(holder, conflict_at, edited=before.config_hash != config_hash)


def _took_turns(mine: str, theirs: str, passed_at: float | None) -> bool:
    """Whether another configuration decided within the term, although ours stayed as it was: an edit of the files
    changes ours as well, so it is no such case."""
    if not theirs or theirs == mine or _last_hash.get(ROW) != mine or passed_at is None:
        return False
    return -AHEAD_S <= now() - passed_at < TERM_S


def _unless_ahead(at: float | None) -> float | None:
    """A time that was noted before the clock was set back says nothing."""
    return at if at is not None and at <= now() + AHEAD_S else None


def wanted() -> int:
    """How many wake-ups there have been."""
    return Lease.objects.filter(name=ROW).values_list("wanted", flat=True).first() or 0


def count_wake_up() -> None:
    """One more reason for a pass; a holder that is at work sees it before it gives the lease back."""
    if not Lease.objects.filter(name=ROW).update(wanted=F("wanted") + 1):
        Lease.objects.get_or_create(name=ROW)
        Lease.objects.filter(name=ROW).update(wanted=F("wanted") + 1)
