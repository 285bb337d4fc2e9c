"""What became of passes: the timeline of every key, and the inputs that can be decided again."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString

from fleet.admin.readings import stored
from fleet.admin.shown import ReadOnly, moment
from fleet.models import Event, Replay, ReplayBody


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ["when", "name", "what", "before", "after", "reason"]
    list_filter = ["what"]
    search_fields = ["name"]
    fields = ["when", "name", "what", "before", "after", "reason", "pass_id", "key_id"]

    @admin.display(description="at", ordering="at")
    def when(self, event: Event) -> str:
        return moment(event.at)


@admin.register(Replay)
class ReplayAdmin(ReadOnly):
    list_display = ["pass_id", "when", "why"]
    fields = ["pass_id", "when", "why", "answer", "input_shown"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Replay]:
        return super().get_queryset(request).defer("stub")

    @admin.display(description="decided at", ordering="at")
    def when(self, replay: Replay) -> str:
        return moment(replay.at)

    @admin.display(description="input, its bodies by digest")
    def input_shown(self, replay: Replay) -> SafeString:
        return stored(replay.stub)


@admin.register(ReplayBody)
class ReplayBodyAdmin(ReadOnly):
    list_display = ["digest", "size", "used"]
    fields = ["digest", "content"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReplayBody]:
        rows: QuerySet[ReplayBody] = super().get_queryset(request).defer("body")
        return rows.annotate(length=Length("body"), uses=Count("replays"))

    @admin.display(description="size", ordering="length")
    def size(self, body: ReplayBody) -> str:
        return f"{getattr(body, 'length', 0) / 1024:.1f} KB compressed"

    @admin.display(description="passes that used it", ordering="uses")
    def used(self, body: ReplayBody) -> int:
        return int(getattr(body, "uses", 0))

    @admin.display(description="body")
    def content(self, body: ReplayBody) -> SafeString:
        return stored(body.body)
