"""One row a pending action: what it writes, why, where it stands, and whether somebody can release it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleet.approvals import WAITING, waiting_approvals
from fleet.models import Approval
from fleet.pages.words import KIND, STATUS, Word
from fleet.redact import Change, changes
from reconcile.view import Action


@dataclass(frozen=True)
class ActionRow:
    """`can_approve`: an approval would release it. `approved`: somebody did, and the loop has not used it yet."""

    digest: str
    what: str
    name: str
    status: Word
    reason: str
    changes: list[Change]
    next_try: float | None
    can_approve: bool
    can_retry: bool
    approved: Approval | None
    why_not: str


def released() -> dict[str, Approval]:
    """The approvals that the loop has not used yet, by digest: one query."""
    return {approval.digest: approval for approval in waiting_approvals()}


def action_rows(actions: Sequence[Action], approvals: dict[str, Approval]) -> list[ActionRow]:
    return [_row(action, approvals.get(action.digest)) for action in actions]


def _row(action: Action, approved: Approval | None) -> ActionRow:
    return ActionRow(
        digest=action.digest,
        what=KIND[action.kind],
        name=action.name,
        status=STATUS[action.status],
        reason=action.reason,
        changes=changes(action.before, action.after),
        next_try=action.next_try,
        can_approve=action.status in WAITING and approved is None,
        can_retry=action.status == "parked",
        approved=approved,
        why_not=STATUS[action.status].explain if action.status == "parked" else "",
    )
