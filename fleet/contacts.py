"""Who asked for a configuration: each host's contact, the revisions it was given, the 50 newest unknown ones.

Every write is conditional on what was read, and a box that asks again for what it has costs one small update.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import F, QuerySet

from fleet import clock
from fleet.clock import Seconds
from fleet.models import BoxContact, ServedConfig

log = logging.getLogger(__name__)
MOST_UNKNOWN = 50
MOST_REVISIONS = 20  # of one box
_TRIES = 5


def seen(host: str, peer: str, *, known: bool) -> tuple[int, bool]:
    """Note that a host asked. Returns the id of its contact, and whether there is news: a new host, one that became
    known or unknown, or another peer than last time."""
    for _ in range(_TRIES):
        contact = BoxContact.objects.filter(host=host).first() or _first(host, peer, known=known)
        if contact.count == 0:
            return _counted(contact), True
        if (news := _again(contact, peer, known=known)) is not None:
            return contact.pk, news
    # Many requests at once, from several peers: one of them noted its own, and this one only counts.
    return _counted(contact), False


def has(contact_id: int, revision: str, servers: list[dict[str, Any]]) -> bool:
    """Whether this is what the box was last given, keys included."""
    newest = ServedConfig.objects.filter(contact_id=contact_id).order_by("-last_at", "-id")
    return newest.values_list("revision", "servers").first() == (revision, servers)


def served(contact_id: int, revision: str, servers: list[dict[str, Any]]) -> bool:
    """Note a 200 with this revision. Returns whether it is another than the last one; its first time is now then, also
    when the box had it before: it starts anew."""
    mine = ServedConfig.objects.filter(contact_id=contact_id)
    if has(contact_id, revision, servers):
        mine.filter(revision=revision).update(last_at=Seconds())
        return False
    now = clock.now()
    fields = {"first_at": now, "last_at": now, "servers": servers}
    ServedConfig.objects.update_or_create(contact_id=contact_id, revision=revision, defaults=fields)
    _drop_beyond(mine.order_by("-last_at", "-id"), MOST_REVISIONS)
    return True


def _first(host: str, peer: str, *, known: bool) -> BoxContact:
    """A new contact, with a count of 0; the one that another request made at the same time, if there is one."""
    now = clock.now()
    fields = {"known": known, "peer": peer, "first_at": now, "last_at": now}
    contact, made = BoxContact.objects.get_or_create(host=host, defaults=fields)
    if made and not known:
        _drop_beyond(BoxContact.objects.filter(known=False).order_by("-last_at", "-id"), MOST_UNKNOWN)
    return contact


def _counted(contact: BoxContact) -> int:
    BoxContact.objects.filter(pk=contact.pk).update(last_at=Seconds(), count=F("count") + 1)
    return contact.pk


def _again(contact: BoxContact, peer: str, *, known: bool) -> bool | None:
    """Whether there is news; None when the contact is no longer as it was read."""
    fields: dict[str, Any] = {"last_at": Seconds(), "count": F("count") + 1}
    if moved := contact.peer != peer:
        fields |= {"peer": peer, "previous_peer": contact.peer, "peer_changed_at": Seconds()}
    if turned := contact.known != known:
        fields["known"] = known
    as_read = BoxContact.objects.filter(pk=contact.pk, peer=contact.peer, known=contact.known)
    if not as_read.update(**fields):
        return None
    if moved:
        log.warning("box_peer_changed host=%s peer=%s before=%s", contact.host, peer, contact.peer)
    if turned and not known:
        _drop_beyond(BoxContact.objects.filter(known=False).order_by("-last_at", "-id"), MOST_UNKNOWN)
    return moved or turned


def _drop_beyond(rows: QuerySet[Any], most: int) -> None:
    beyond = list(rows.values_list("pk", flat=True)[most:])
    if beyond:
        rows.model.objects.filter(pk__in=beyond).delete()
