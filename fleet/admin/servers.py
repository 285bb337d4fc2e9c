"""Servers that should run. Those of config.yaml are shown; those of the admin and of Approve are changed and ended."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from fleet import approvals
from fleet.admin.server_form import ServerForm
from fleet.admin.shown import NoDelete
from fleet.models import IntendedServer


class Running(admin.SimpleListFilter):
    """Whether a row counts: by default only those that do are listed."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("ended", "ended"), ("all", "all")]

    def choices(self, changelist: Any) -> Any:
        yield {
            "selected": self.value() is None,
            "query_string": changelist.get_query_string({}, ["state"]),
            "display": "wanted now",
        }
        for value, title in self.lookup_choices:
            query = changelist.get_query_string({"state": value})
            yield {"selected": self.value() == value, "query_string": query, "display": title}

    def queryset(self, request: HttpRequest, queryset: QuerySet[IntendedServer]) -> QuerySet[IntendedServer]:
        if self.value() == "all":
            return queryset
        return queryset.filter(ended_at__isnull=self.value() != "ended")


@admin.register(IntendedServer)
class IntendedServerAdmin(NoDelete, admin.ModelAdmin):  # type: ignore[type-arg]
    form = ServerForm
    list_display = ["model", "host", "listen_port", "pinned_port", "label", "origin", "said_by", "created_at", "ended"]
    list_filter = [Running, "origin", "model"]
    search_fields = ["host__address", "model", "label"]
    list_select_related = ["host"]
    autocomplete_fields = ["host"]
    readonly_fields = ["origin", "created_at", "created_by", "ended_at", "ended_by"]
    actions = ["end"]

    def has_change_permission(self, request: HttpRequest, obj: IntendedServer | None = None) -> bool:
        """config.yaml is changed in config.yaml, and what has ended stays as it was."""
        if obj is not None and (obj.origin == "config" or obj.ended_at is not None):
            return False
        return super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: IntendedServer, form: Any, change: bool) -> None:
        save_server(obj, request.user.get_username(), form.changed_data if change else None)

    @admin.action(description="End the chosen servers (they stay listed as ended)", permissions=["change"])
    def end(self, request: HttpRequest, queryset: QuerySet[IntendedServer]) -> None:
        ended = 0
        for server in queryset.select_related("host"):
            try:
                ended += approvals.end_server(server, request.user.get_username())
            except approvals.Refused as refused:
                self.message_user(request, str(refused), messages.ERROR)
        if ended:
            self.message_user(request, f"Ended {ended}. LiteLLM's rows of what no host is given any more are pruned.")

    @admin.display(description="by", ordering="created_by")
    def said_by(self, server: IntendedServer) -> str:
        return server.created_by or ("config.yaml" if server.origin == "config" else "–")

    @admin.display(description="ended", ordering="ended_at")
    def ended(self, server: IntendedServer) -> str:
        return f"{server.ended_at:%Y-%m-%d %H:%M} by {server.ended_by or '–'}" if server.ended_at else "–"


def save_server(server: IntendedServer, by: str, changed: list[str] | None) -> None:
    """Store a row that a person added (`changed` is None) or changed, log it, and have the loop take it up."""
    if changed is None:
        server.origin, server.created_by = "admin", by
    server.save()
    name = f"{server.host}:{server.listen_port}/{server.model}"
    said = {field: getattr(server, field) for field in ("model", "listen_port", "pinned_port", "label")}
    if changed is None:
        approvals.decided("add_server", name, by, after=said)
    elif changed:
        approvals.decided("change_server", name, by, f"changed {', '.join(changed)}", said)
