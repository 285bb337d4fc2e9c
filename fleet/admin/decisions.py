"""Who approved what, and everything that was written and decided, with who, why and LiteLLM's answer."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from fleet import approvals
from fleet.admin.shown import ReadOnly, body, moment
from fleet.models import ActionLog, Approval
from fleet.redact import changes


@admin.register(Approval)
class ApprovalAdmin(ReadOnly):
    list_display = ["name", "kind", "by", "approved", "spent", "withdrawn"]
    list_filter = ["kind", "by"]
    search_fields = ["name", "digest"]
    fields = ["name", "kind", "by", "approved", "spent", "withdrawn", "digest", "what_was_seen"]
    actions = ["withdraw"]

    def has_approval_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("fleet.add_approval")

    @admin.action(description="Withdraw the chosen approvals", permissions=["approval"])
    def withdraw(self, request: HttpRequest, queryset: QuerySet[Approval]) -> None:
        digests = set(queryset.values_list("digest", flat=True))
        taken_back = sum(approvals.withdraw(digest, request.user.get_username()) for digest in digests)
        self.message_user(request, f"Withdrew {taken_back}; those used before stay as they are.")

    @admin.display(description="approved at", ordering="at")
    def approved(self, approval: Approval) -> str:
        return moment(approval.at)

    @admin.display(description="used at", ordering="spent_at")
    def spent(self, approval: Approval) -> str:
        return moment(approval.spent_at)

    @admin.display(description="withdrawn at", ordering="withdrawn_at")
    def withdrawn(self, approval: Approval) -> str:
        return moment(approval.withdrawn_at)

    @admin.display(description="what was seen")
    def what_was_seen(self, approval: Approval) -> SafeString:
        return body(approval.seen)


@admin.register(ActionLog)
class ActionLogAdmin(ReadOnly):
    list_display = ["when", "what", "name", "by", "answer", "reason"]
    list_filter = ["kind", "answer", "revert", "by"]
    search_fields = ["name", "deployment_id", "by"]
    date_hierarchy = "at"
    fields = [
        "when", "what", "name", "by", "reason", "answer", "detail", "what_changed", "deployment_id", "pass_id",
    ]  # fmt: skip

    @admin.display(description="at", ordering="at")
    def when(self, line: ActionLog) -> str:
        return f"{line.at:%Y-%m-%d %H:%M:%S} UTC"

    @admin.display(description="what", ordering="kind")
    def what(self, line: ActionLog) -> str:
        """A revert puts back what somebody changed outside llmao."""
        return f"{line.kind} (revert)" if line.revert else line.kind

    @admin.display(description="what changed")
    def what_changed(self, line: ActionLog) -> SafeString | str:
        rows = [(each.path, each.before or "–", each.after or "–") for each in changes(line.before, line.after)]
        return format_html_join("", "<div><code>{}</code>: {} → {}</div>", rows) or "–"
