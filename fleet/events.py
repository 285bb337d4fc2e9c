"""The timeline of each key: one event for each change of a verdict, worked out as a pass is stored.

A verdict that this pass could not reach (its source is unread, stale or failing) is no change: the last one that was
reached stands and is compared with the next. What stands is one row, so a view of another version, or one that is no
longer kept, costs nothing. Ages are no verdict, and none of them makes an event.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from django.db.models import QuerySet
from msgspec.structs import asdict

from fleet.models import Event, Memory
from fleet.snapshots import pack, unpack
from reconcile.identity import Key, box_name, deployment_id
from reconcile.view import Record, View

KEPT = 100_000
KEPT_S = 30 * 24 * 3600.0
ROW = "standing"
SILENT = frozenset({"never", "stale", "other_url", "not_probed"})  # probe states that say nothing of the server
WANTED = {"none": "nobody", "discovered": "nobody (discovered)"}
UNREACHED = ""  # a verdict that was not reached yet


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The last verdicts that were reached about one key, each in words; the fields are what an event can be about."""

    wanted: str
    lifecycle: str
    sync: str
    row: str
    probe: str
    address: str
    unlisted: str


class Known(msgspec.Struct, frozen=True):
    key: Key
    name: str
    standing: Standing


class Board(msgspec.Struct, frozen=True):
    keys: tuple[Known, ...] = ()


def note(number: int, at: float, view: View) -> int:
    """Store what pass `number` changed, in the caller's transaction; returns how many verdicts changed."""
    board = _load()
    before = {known.key: known for known in board.keys} if board else {}
    after = _stood(view, before)
    found = list(_changes(view, before, after)) if board else []
    Event.objects.bulk_create(
        [Event(at=at, pass_id=number, key_id=deployment_id(known.key), **words) for known, words in found],
        batch_size=1000,
    )
    if board is None or after != before:
        now = Board(tuple(after.values()))
        Memory.objects.update_or_create(name=ROW, defaults={"body": pack(now), "passed_at": at})
    _prune(at)
    return len(found)


def of_key(key: Key) -> QuerySet[Event]:
    """The key's events, newest first."""
    return Event.objects.filter(key_id=deployment_id(key))


def standing(record: Record, before: Standing | None = None, *, rows_read: bool = True) -> Standing:
    """A record's verdicts in words; those of `before` stand where this pass could not reach one."""
    return Standing(
        wanted=WANTED.get(record.origin, record.origin),
        lifecycle=record.lifecycle,
        sync=_sync(record) if rows_read else before.sync if before else UNREACHED,
        row=_row(record) if rows_read else before.row if before else UNREACHED,
        probe=_probe(record, before.probe if before else UNREACHED),
        address=box_name(record.dialable_url) if record.dialable_url else "unplaced",
        unlisted="unlisted" if record.unlisted else "not unlisted",
    )


def _load() -> Board | None:
    """What stood after the last pass; an empty board before the first one, None when another version wrote it."""
    row = Memory.objects.filter(name=ROW).first()
    try:
        return unpack(row.body, Board) if row else Board()
    except msgspec.DecodeError:
        return None


def _stood(view: View, before: dict[Key, Known]) -> dict[Key, Known]:
    """Every key's verdicts after this pass. A key that is only missing because a source is not read stays."""
    rows_read = _state(view, "deployments") == "fresh"
    after: dict[Key, Known] = {}
    for key, record in _by_key(view).items():
        known = before.get(key)
        after[key] = Known(key, record.name, standing(record, known.standing if known else None, rows_read=rows_read))
    if not (rows_read and _state(view, "intended") in ("fresh", "failed")):
        after |= {key: known for key, known in before.items() if key not in after}
    return dict(sorted(after.items()))


def _by_key(view: View) -> dict[Key, Record]:
    """One record a key: the wanted one, else the first of several rows that nobody claims."""
    found: dict[Key, Record] = {}
    for record in sorted(view.records, key=_unclaimed):
        found.setdefault(record.key, record)
    return found


def _unclaimed(record: Record) -> bool:
    return record.origin == "none"


def _changes(view: View, before: dict[Key, Known], after: dict[Key, Known]) -> Iterator[tuple[Known, dict[str, str]]]:
    records = _by_key(view)
    for key, known in after.items():
        old = before.get(key)
        if old is None:
            yield known, _event(known, "appeared", "", known.standing.lifecycle, records[key].reason)
        elif old.standing != known.standing:
            yield from _differences(known, old.standing, records[key])
    for key in sorted(before.keys() - after.keys()):
        gone = before[key]
        yield gone, _event(gone, "gone", gone.standing.lifecycle, "", _why_gone(gone.standing))


def _differences(known: Known, old: Standing, record: Record) -> Iterator[tuple[Known, dict[str, str]]]:
    was = asdict(old)
    for what, word in asdict(known.standing).items():
        if word != was[what] and (was[what] != UNREACHED or what == "probe"):
            yield known, _event(known, what, was[what], word, _reason(what, record))


def _event(known: Known, what: str, before: str, after: str, reason: str) -> dict[str, str]:
    words = {"name": known.name, "what": what, "before": before, "after": after, "reason": reason}
    limits = {"name": 700, "before": 200, "after": 200, "reason": 2000}
    return {field: storable(text)[: limits.get(field)] for field, text in words.items()}


def storable(text: str) -> str:
    """Text that every database takes: what a stranger's server says may hold NUL or half a character."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def _reason(what: str, record: Record) -> str:
    if what == "probe":
        return record.probe.detail
    if what == "address":
        return record.dialable_step.replace("_", " ")
    if what == "row":
        return record.deployment.id if record.deployment else ""
    return record.reason


def _why_gone(standing: Standing) -> str:
    if standing.wanted == "nobody":
        return "LiteLLM no longer lists it"
    return "it is no longer wanted, and LiteLLM has no row of it"


def _sync(record: Record) -> str:
    if not record.skew:
        return "in sync"
    fields = ", ".join(name.rpartition(".")[2] for name in record.deployment.differing) if record.deployment else ""
    words = ", ".join(each.replace("_", " ") for each in record.skew)
    return f"{words} ({fields})" if fields and "mismatch" in record.skew else words


def _row(record: Record) -> str:
    row = record.deployment
    if row is None:
        return "none"
    return row.state.replace("_", " ") + (", blocked" if row.blocked else "")


def _probe(record: Record, before: str) -> str:
    state = record.probe.state
    return before if state in SILENT else state.replace("_", " ")


def _state(view: View, source: str) -> str:
    return next((each.state for each in view.sources if each.name == source), "unread")


def _prune(now: float) -> None:
    Event.objects.filter(at__lt=now - KEPT_S).delete()
    newest = Event.objects.values_list("id", flat=True).first()
    if newest is not None:
        Event.objects.filter(id__lte=newest - KEPT).delete()
