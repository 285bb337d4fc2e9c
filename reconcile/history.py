"""What one pass tells the next: runs of readings, last-known addresses, who placed a host.

Only `decide.reconcile` makes these; the cycle stores them as one row (placed hosts in a table of their own, because
they outlive the history).
"""

from __future__ import annotations

import msgspec

from reconcile.identity import Key


class Run(msgspec.Struct, frozen=True):
    """Readings in a row of one kind: how many, the time of the first and of the last."""

    n: int
    first: float
    last: float


class KeyMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of one key. `probed_at` is the newest probe already counted; `since` when this memory began;
    config fetches older than `changed_at`, the start of the key's present instance, do not count."""

    key: Key
    since: float
    changed_at: float = 0.0
    last_ok: float | None = None
    probed_at: float | None = None
    misses: Run | None = None
    hits: Run | None = None
    last_url: str | None = None
    instance: str | None = None
    removals: tuple[float, ...] = ()
    delete_wanted_since: float | None = None
    discovered: bool = False  # nobody intended it: the instance was found serving
    drained: bool = False  # it was in maintenance, so a block of its row is ours to undo
    first_asked: float | None = None  # LiteLLM's first opinion in the present run of misses
    last_up: float | None = None  # its newest opinion "up" in the present run of misses


class HostMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A host that a listing placed: its run of absences from that listing, and the verdict that stands."""

    host: str
    read_at: float
    absences: Run | None = None
    unlisted: bool = False


class RowMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A LiteLLM row: when it was last listed, its run as an orphan, LiteLLM's downs in a row (commercial)."""

    id: str
    last_listed: float
    key: Key | None = None
    orphan: Run | None = None
    downs: int = 0
    down_first_asked: float | None = None
    opinion_at: float | None = None  # the newest opinion already counted
    seen: str | None = None  # the row as the newest snapshot listed it, to notice replicas that disagree
    seen_at: float | None = None
    disagreed_at: float | None = None


class PlacedHost(msgspec.Struct, frozen=True):
    """Which provider and instance placed a host, when it was last listed, whether it was ever intended.

    `provider` is "" for a host that is only remembered as once intended.
    """

    host: str
    provider: str
    instance: str
    listed_at: float
    once_intended: bool = False


class History(msgspec.Struct, frozen=True, kw_only=True):
    began_at: float
    passed_at: float
    keys: tuple[KeyMemory, ...] = ()
    hosts: tuple[HostMemory, ...] = ()
    rows: tuple[RowMemory, ...] = ()
    placed: tuple[PlacedHost, ...] = ()


def begin(now: float, placed: tuple[PlacedHost, ...] = ()) -> History:
    """An empty history: a restart starts cautious, knowing only who placed which host."""
    return History(began_at=now, passed_at=now, placed=placed)
