"""All that `/models` shows, from the newest pass: one object for the first load and for every refresh."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.paginator import Page

from fleet import clock, passes
from fleet.models import ActionLog, Pass
from fleet.pages.actions import ActionRow, action_rows, released
from fleet.pages.box_form import Typed
from fleet.pages.deployments import DeploymentRow, deployment_page, deployment_row
from fleet.pages.rollup import ModelRow, model_rows
from fleet.pages.sources import SourceRow, source_rows
from fleet.pages.work import Group, groups
from fleet.passes import Shown
from reconcile.view import Record

LATE_S = 120  # the loop runs at least twice a minute; after this long without a pass the page says so
ACTIONS_SHOWN = 50


@dataclass(frozen=True)
class May:
    """What this person may do: a button that would refuse is not shown."""

    approve_boxes: bool
    approve_actions: bool


@dataclass(frozen=True)
class Staff:
    """What only staff see."""

    work: list[Group]
    noticed: list[Group]
    needed: int
    deployments: list[DeploymentRow]
    page: Page[Record]
    actions: list[ActionRow]
    actions_total: int
    more_actions: int
    sources: list[SourceRow]
    may: May
    mode: str


@dataclass(frozen=True)
class Live:
    """`version` changes whenever the page would: with a pass, or with a decision of a person."""

    version: str
    now: float
    late_s: int
    passed_at: float | None
    models: list[ModelRow]
    staff: Staff | None

    @property
    def late(self) -> bool:
        return self.passed_at is not None and self.now - self.passed_at > self.late_s

    @property
    def shows_refusal(self) -> bool:
        """Whether the refused form is on the page, with its reasons."""
        boxes = [box for group in self.staff.work for box in group.boxes] if self.staff else []
        return any(box.form and box.form.errors for box in boxes)


def version() -> str:
    """One query: the numbers of the newest pass and of the newest row of the action log."""
    newest = ActionLog.objects.order_by("-id").values("id")[:1]
    row = Pass.objects.order_by("-id").annotate(logged=newest).values_list("id", "logged").first()
    return f"{row[0]}-{row[1] or 0}" if row else "0"


def live(user: AbstractBaseUser | AnonymousUser, page: str, typed: Typed | None = None) -> Live:
    """The page for this person; `typed` is a refused Approve form to show again."""
    seen = version()  # before the pass is read: a newer pass then only costs one more refresh
    shown = passes.latest()
    return Live(
        version=seen,
        now=clock.now(),
        late_s=LATE_S,
        passed_at=shown.at if shown else None,
        models=model_rows(shown.view) if shown else [],
        staff=_staff(shown, user, page, typed) if shown and getattr(user, "is_staff", False) else None,
    )


def _staff(shown: Shown, user: AbstractBaseUser | AnonymousUser, page: str, typed: Typed | None) -> Staff:
    approvals = released()
    found = groups(shown.plan, approvals, typed)
    work = [group for group in found if not group.quiet]
    rows = deployment_page(shown.view, page)
    return Staff(
        work=work,
        noticed=[group for group in found if group.quiet],
        needed=sum(group.total for group in work),
        deployments=[deployment_row(record) for record in rows],
        page=rows,
        actions=action_rows(shown.plan.actions[:ACTIONS_SHOWN], approvals),
        actions_total=len(shown.plan.actions),
        more_actions=max(0, len(shown.plan.actions) - ACTIONS_SHOWN),
        sources=source_rows(shown.view),
        may=may(user),
        mode=shown.plan.mode,
    )


def may(user: AbstractBaseUser | AnonymousUser) -> May:
    return May(allowed(user, "add_intendedserver"), allowed(user, "add_approval"))


def allowed(user: AbstractBaseUser | AnonymousUser, permission: str) -> bool:
    """Whether a person of staff has `fleet.<permission>`."""
    return bool(getattr(user, "is_staff", False) and user.has_perm(f"fleet.{permission}"))  # type: ignore[union-attr]
