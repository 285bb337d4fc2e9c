"""What was lately tried on LiteLLM's rows, as the executor noted it before and after each write."""

from __future__ import annotations

from django.db.models import Q

from fleet import models
from fleet.clock import Seconds
from fleet.sources.base import SourceKind
from reconcile.identity import Key
from reconcile.inputs import Attempt, Attempts
from reconcile.view import View

KEPT_S = 24 * 3600.0


def fetch(_view: View) -> Attempts:
    """The newest write of each row: of the last day, refused since, or with an answer still open. One query."""
    open_answer = Q(answer__in=("pending", "unknown"))
    lately = Q(sent_at__gt=Seconds() - KEPT_S)
    rows = models.Attempt.objects.filter(lately | open_answer | Q(refusals__gt=0)).order_by("deployment_id")
    return Attempts(attempts=tuple(map(_attempt, rows)))


SOURCE = SourceKind("attempts", Attempts, "attempts", fetch)


def _attempt(row: models.Attempt) -> Attempt:
    return Attempt(
        deployment_id=row.deployment_id,
        kind=row.kind,  # type: ignore[arg-type]
        key=Key(row.key_url, row.key_model),
        digest=row.digest,
        cause=row.cause,
        after=row.after,
        sent_at=row.sent_at,
        answer=row.answer,  # type: ignore[arg-type]
        answered_at=row.answered_at,
        detail=row.detail,
        refusals=row.refusals,
    )
