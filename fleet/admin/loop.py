"""The loop: its passes, and who holds the lease."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString

from fleet.admin.readings import stored
from fleet.admin.shown import ReadOnly, body, moment
from fleet.models import Lease, Pass


@admin.register(Pass)
class PassAdmin(ReadOnly):
    list_display = ["id", "when", "took_s"]
    fields = ["when", "took_s", "plan_shown", "view_shown", "sources_shown"]

    @admin.display(description="decided at", ordering="at")
    def when(self, one: Pass) -> str:
        return moment(one.at)

    @admin.display(description="plan")
    def plan_shown(self, one: Pass) -> SafeString:
        return stored(one.plan)

    @admin.display(description="view")
    def view_shown(self, one: Pass) -> SafeString:
        return stored(one.view)

    @admin.display(description="readings used")
    def sources_shown(self, one: Pass) -> SafeString:
        return body({name: moment(taken_at) for name, taken_at in one.sources.items()})


@admin.register(Lease)
class LeaseAdmin(ReadOnly):
    list_display = ["name", "holder", "ends", "passed", "wanted"]
    fields = ["name", "holder", "ends", "config_hash", "passed", "two_configurations", "wanted"]

    @admin.display(description="held until")
    def ends(self, lease: Lease) -> str:
        return moment(lease.until)

    @admin.display(description="last pass")
    def passed(self, lease: Lease) -> str:
        return moment(lease.passed_at)

    @admin.display(description="two configurations seen")
    def two_configurations(self, lease: Lease) -> str:
        return moment(lease.two_configurations_at)
