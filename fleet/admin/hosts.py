"""Hosts: their labels with who and when, their servers, a note."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from fleet import approvals
from fleet.admin.server_form import ServerForm, ServersOfAHost
from fleet.admin.servers import save_server
from fleet.admin.shown import NoDelete, OnlyShown
from fleet.config.addresses import refused_because
from fleet.models import Host, HostLabel, IntendedServer
from reconcile.identity import canonical_host


class HostForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Host
        fields = ["address", "note"]

    def clean_address(self) -> str:
        address = canonical_host(self.cleaned_data["address"])
        if why := refused_because(address):
            raise forms.ValidationError(f"{address} {why}: no box can be there.")
        return address


class LabelsShown(OnlyShown, admin.TabularInline):  # type: ignore[type-arg]
    """Labels are written and cleared by the actions of the list, which note who and when."""

    model = HostLabel
    readonly_fields = ["label", "by", "at"]
    fields = [*readonly_fields]
    extra = 0


class ServersShown(OnlyShown, admin.TabularInline):  # type: ignore[type-arg]
    model = IntendedServer
    verbose_name_plural = "servers"
    readonly_fields = [
        "listen_port",
        "model",
        "label",
        "pinned_port",
        "origin",
        "created_by",
        "created_at",
        "ended_at",
        "ended_by",
    ]
    fields = [*readonly_fields]  # fmt: skip
    extra = 0
    show_change_link = True


class ServersAdded(NoDelete, admin.TabularInline):  # type: ignore[type-arg]
    """Only empty rows: the present ones are shown above, each with a link to its own page."""

    model = IntendedServer
    form = ServerForm
    formset = ServersOfAHost
    verbose_name_plural = "add servers"
    fields = ["listen_port", "model", "label", "pinned_port"]
    extra = 1

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Host)
class HostAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = HostForm
    list_display = ["address", "label_list", "server_list", "note", "created_at"]
    list_filter = ["labels__label"]
    search_fields = ["address", "note"]
    inlines = [LabelsShown, ServersShown, ServersAdded]
    actions = [
        "label_approved", "clear_approved", "label_reboot_requested", "clear_reboot_requested", "retire", "unretire",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        return super().get_queryset(request).prefetch_related("labels", "servers")

    def has_delete_permission(self, request: HttpRequest, obj: Host | None = None) -> bool:
        """A host that something was said about is kept; only a mistyped one may go."""
        return obj is not None and not obj.servers.exists() and super().has_delete_permission(request, obj)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for server in formset.save(commit=False):
            save_server(server, request.user.get_username(), None)

    @admin.display(description="labels")
    def label_list(self, host: Host) -> str:
        said = [f"{each.get_label_display()} ({each.by}, {each.at:%Y-%m-%d %H:%M})" for each in host.labels.all()]
        return ", ".join(said) or "–"

    @admin.display(description="servers")
    def server_list(self, host: Host) -> str:
        live = [f"{each.model}:{each.listen_port}" for each in host.servers.all() if each.ended_at is None]
        return ", ".join(live) or "–"

    @admin.action(description="Label: approved", permissions=["change"])
    def label_approved(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._label(request, queryset, "approved")

    @admin.action(description="Label: reboot requested", permissions=["change"])
    def label_reboot_requested(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._label(request, queryset, "reboot_requested")

    @admin.action(description="Clear the label: reboot requested", permissions=["change"])
    def clear_reboot_requested(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._clear(request, queryset, "reboot_requested")

    @admin.action(description="Clear the label: approved", permissions=["change"])
    def clear_approved(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._clear(request, queryset, "approved")

    @admin.action(description="Retire: nothing is wanted on it any more, its LiteLLM rows go", permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._label(request, queryset, "retired")

    @admin.action(description="Clear the label: retired", permissions=["change"])
    def unretire(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        self._clear(request, queryset, "retired")

    def _label(self, request: HttpRequest, queryset: QuerySet[Host], label: str) -> None:
        for host in queryset:
            approvals.set_label(host.address, label, request.user.get_username())
        self.message_user(request, f"Labelled {queryset.count()} as {label.replace('_', ' ')}.")

    def _clear(self, request: HttpRequest, queryset: QuerySet[Host], label: str) -> None:
        cleared = sum(approvals.clear_label(host.address, label, request.user.get_username()) for host in queryset)
        self.message_user(request, f"Cleared {label.replace('_', ' ')} on {cleared}.")
