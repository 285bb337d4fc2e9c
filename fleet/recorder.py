"""Notes each write before it is sent and after it was answered; the next pass reads that as one more source."""

from __future__ import annotations

from django.db import DatabaseError, transaction
from django.db.models import Q

from fleet import clock
from fleet.models import ActionLog, Approval, Attempt, SourceState
from fleet.storable import storable
from litellm_sync.executor import Outcome, Unrecorded
from reconcile.view import Action


def unread() -> bool:
    """Whether a write was noted that no reading of `attempts` has: its holder was ended before it could read back."""
    state = SourceState.objects.filter(name="attempts").first()
    if state is None or state.taken_at is None:
        return Attempt.objects.exists()
    return Attempt.objects.filter(Q(sent_at__gte=state.taken_at) | Q(answered_at__gte=state.taken_at)).exists()


class Recorder:
    """The executor's recorder for one pass."""

    def __init__(self, pass_id: int) -> None:
        self._pass_id = pass_id
        self._lines: dict[str, int] = {}

    def begin(self, action: Action) -> None:
        """Store the attempt and its line in the log, before LiteLLM is asked. Raises Unrecorded when the database
        does not take them."""
        try:
            self._begin(action)
        except (DatabaseError, ValueError) as failure:  # ValueError: text that cannot be encoded
            raise Unrecorded(type(failure).__name__) from failure

    @transaction.atomic
    def _begin(self, action: Action) -> None:
        Attempt.objects.update_or_create(
            deployment_id=action.deployment_id,
            defaults={
                "kind": action.kind,
                "key_url": storable(action.key.url),
                "key_model": storable(action.key.model),
                "digest": action.digest,
                "cause": action.cause,
                "after": action.after,  # as it is: the next pass compares it
                "sent_at": clock.now(),
                "answer": "pending",
                "answered_at": None,
                "detail": "",
            },
        )
        self._lines[action.digest] = self._log(action).pk

    @transaction.atomic
    def finish(self, action: Action, outcome: Outcome) -> None:
        """Store LiteLLM's answer; the first success spends the approvals of exactly this action."""
        attempt = Attempt.objects.get(pk=action.deployment_id)
        attempt.answer = outcome.answer
        attempt.answered_at = clock.now()
        attempt.detail = storable(outcome.detail)
        attempt.refusals = {"ok": 0, "refused": attempt.refusals + 1}.get(outcome.answer, attempt.refusals)
        attempt.save(update_fields=["answer", "answered_at", "detail", "refusals"])
        line = ActionLog.objects.filter(pk=self._lines[action.digest])
        line.update(answer=outcome.answer, detail=attempt.detail)
        if outcome.answer == "ok":
            unspent = Approval.objects.filter(digest=action.digest, spent_at=None, withdrawn_at=None)
            unspent.update(spent_at=attempt.answered_at)

    def _log(self, action: Action) -> ActionLog:
        return ActionLog.objects.create(
            kind=action.kind,
            name=storable(action.name),
            deployment_id=action.deployment_id,
            reason=storable(action.reason),
            before=storable(action.before),
            after=action.after,
            fields=storable(action.fields),
            by=action.approved_by or f"rule {action.rule}",
            revert=action.cause == "revert",
            answer="pending",
            pass_id=self._pass_id,
        )
