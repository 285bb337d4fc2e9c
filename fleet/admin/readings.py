"""What was read: snapshots, the state of each source, boxes that asked and what they were given."""

from __future__ import annotations

import zlib

import msgspec
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from fleet.admin.shown import OnlyShown, ReadOnly, body, moment
from fleet.models import BoxContact, ServedConfig, Snapshot, SourceState


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnly):
    list_display = ["source", "taken", "size"]
    list_filter = ["source"]
    fields = ["source", "taken", "content"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Snapshot]:
        return super().get_queryset(request)

    @admin.display(description="taken at", ordering="taken_at")
    def taken(self, snapshot: Snapshot) -> str:
        return moment(snapshot.taken_at)

    @admin.display(description="size")
    def size(self, snapshot: Snapshot) -> str:
        return f"{len(snapshot.body) / 1024:.1f} KB compressed"

    @admin.display(description="body")
    def content(self, snapshot: Snapshot) -> SafeString:
        return stored(snapshot.body)


@admin.register(SourceState)
class SourceStateAdmin(ReadOnly):
    list_display = ["name", "configured", "taken", "failed", "error"]
    fields = ["name", "configured", "taken", "failed", "error", "snapshot"]

    @admin.display(description="last good reading", ordering="taken_at")
    def taken(self, state: SourceState) -> str:
        return moment(state.taken_at)

    @admin.display(description="failed since then", ordering="failed_at")
    def failed(self, state: SourceState) -> str:
        return moment(state.failed_at)


class ServedShown(OnlyShown, admin.TabularInline):  # type: ignore[type-arg]
    model = ServedConfig
    readonly_fields = ["revision", "first", "last", "given"]
    fields = [*readonly_fields]
    extra = 0

    @admin.display(description="first given")
    def first(self, served: ServedConfig) -> str:
        return moment(served.first_at)

    @admin.display(description="last given")
    def last(self, served: ServedConfig) -> str:
        return moment(served.last_at)

    @admin.display(description="servers")
    def given(self, served: ServedConfig) -> str:
        return ", ".join(f"{each.get('model')}:{each.get('listen_port')}" for each in served.servers) or "–"


@admin.register(BoxContact)
class BoxContactAdmin(ReadOnly):
    list_display = ["host", "known", "peer", "count", "first", "last", "peer_changed"]
    list_filter = ["known"]
    search_fields = ["host", "peer"]
    fields = ["host", "known", "peer", "previous_peer", "peer_changed", "count", "first", "last"]
    inlines = [ServedShown]

    @admin.display(description="first asked", ordering="first_at")
    def first(self, contact: BoxContact) -> str:
        return moment(contact.first_at)

    @admin.display(description="last asked", ordering="last_at")
    def last(self, contact: BoxContact) -> str:
        return moment(contact.last_at)

    @admin.display(description="peer changed", ordering="peer_changed_at")
    def peer_changed(self, contact: BoxContact) -> str:
        return moment(contact.peer_changed_at)


def stored(packed: bytes | memoryview) -> SafeString:
    """A compressed JSON column, pretty and without secrets."""
    return body(msgspec.json.decode(zlib.decompress(packed)))
