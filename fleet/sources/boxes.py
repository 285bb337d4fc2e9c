"""Which boxes asked for their configuration, what each was given and when, and who asked and is not known."""

from __future__ import annotations

from fleet.contacts import MOST_UNKNOWN
from fleet.models import BoxContact, ServedConfig
from fleet.sources.base import SourceKind
from reconcile.identity import canonical_host
from reconcile.inputs import Box, Boxes, Served, ServedServer, UnknownBox
from reconcile.view import View


def fetch(_view: View) -> Boxes:
    """The tables of the box protocol as they are. Two queries."""
    contacts = list(BoxContact.objects.order_by("-last_at", "-id"))
    served = _served()
    known = [contact for contact in contacts if contact.known or contact.pk in served]
    unknown = [contact for contact in contacts if not contact.known]
    return Boxes(
        boxes=tuple(_box(contact, served.get(contact.pk, [])) for contact in known),
        unknown=tuple(_unknown(contact) for contact in unknown[:MOST_UNKNOWN]),
    )


SOURCE = SourceKind("boxes", Boxes, "boxes", fetch)


def _served() -> dict[int, list[Served]]:
    """Contact id → its revisions, newest first."""
    found: dict[int, list[Served]] = {}
    for row in ServedConfig.objects.order_by("contact_id", "-last_at", "-id"):
        found.setdefault(row.contact_id, []).append(_revision(row))
    return found


def _revision(row: ServedConfig) -> Served:
    servers = tuple(ServedServer(listen_port=each["listen_port"], model=each["model"]) for each in row.servers)
    return Served(revision=row.revision, first_at=row.first_at, last_at=row.last_at, servers=servers)


def _box(contact: BoxContact, served: list[Served]) -> Box:
    return Box(
        host=canonical_host(contact.host),
        seen_at=contact.last_at,
        peer=contact.peer,
        served=tuple(served),
        peer_changed_at=contact.peer_changed_at,
        previous_peer=contact.previous_peer,
    )


def _unknown(contact: BoxContact) -> UnknownBox:
    return UnknownBox(
        host=canonical_host(contact.host),
        first_at=contact.first_at,
        last_at=contact.last_at,
        count=contact.count,
        peer=contact.peer,
    )
