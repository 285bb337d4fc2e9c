"""May this write be sent now? Settling, backoff, LiteLLM's second opinion, policy and approvals (decision-table E)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from reconcile.bodies import canonical
from reconcile.history import KeyMemory
from reconcile.identity import Key, box_name
from reconcile.inputs import Approval, Attempt, Kind, Opinion
from reconcile.join import DELETES, Joined, written_at
from reconcile.runs import long_enough
from reconcile.settings import Settings
from reconcile.view import Action, Status
from reconcile.words import age, ago
from reconcile.world import World

BACKOFF_FIRST_S, BACKOFF_MOST_S = 5, 600
ASK_FIRST_S, ASK_MOST_S = 60, 600
OPINION_LASTS_S = 2 * ASK_MOST_S
APPROVAL_S = 24 * 3600  # an approval that nothing carried out dies
PARK_AFTER = 5  # refusals in a row of one and the same write
RETURN_MOST = 40  # ok probes in a row before a key that was removed for health again and again returns


@dataclass(frozen=True, slots=True)
class Hold:
    """A removal that waits: why, in a sentence."""

    reason: str


def digest(kind: Kind, key: Key, row_id: str, before: Any, after: Any) -> str:
    """What an approval is bound to. No time, age or count is in it."""
    seen = canonical([kind, key.url, key.model, row_id, before, after])
    return hashlib.sha256(seen).hexdigest()[:16]


def with_status(world: World, action: Action, attempt: Attempt | None, hold: Hold | None = None) -> Action:
    """The action with the status it has now; `attempt` is the newest write of its deployment id."""
    resume = _unfinished(action, attempt)
    status, next_try = _status(world, action, attempt, hold, resume)
    approved_by = _approver(world, action, attempt) if status == "ready" else ""
    reason = f"{action.reason}: {hold.reason}" if hold and status == "held" else action.reason
    return replace(action, status=status, next_try=next_try, resume=resume, approved_by=approved_by, reason=reason)


def _status(
    world: World, action: Action, attempt: Attempt | None, hold: Hold | None, resume: bool
) -> tuple[Status, float | None]:
    if world.settings.mode == "observe":
        return "observed", None
    if attempt and not resume and _settling(world, action, attempt):
        return "settling", written_at(attempt) + world.settings.settle_s
    if attempt and parked(action, attempt):
        return "parked", None
    retry_at = next_try(attempt)
    if retry_at is not None and world.now < retry_at:
        return "backing_off", retry_at
    if _approver(world, action, attempt):
        return "ready", None
    if hold:
        return "held", None
    return ("needs_human" if action.policy == "needs_human" else "ready"), None


def _unfinished(action: Action, attempt: Attempt | None) -> bool:
    """A create that got no answer: it may have happened, and a PATCH of the same id tells."""
    if attempt is None or action.kind != "add_litellm" or attempt.kind != "add_litellm":
        return False
    return attempt.answer in ("pending", "unknown")


def _settling(world: World, action: Action, attempt: Attempt) -> bool:
    """Whether this very write was sent within settle_s and may have happened: a replica may not show it yet."""
    same = attempt.kind == action.kind and attempt.after == action.after
    return same and world.now - written_at(attempt) < world.settings.settle_s


def parked(action: Action, attempt: Attempt) -> bool:
    """Refused five times in a row: not sent again until what it would write changes, or a person presses Retry (which
    forgets the refusals)."""
    same = attempt.kind == action.kind and attempt.after == action.after
    return same and attempt.answer == "refused" and attempt.refusals >= PARK_AFTER


def next_try(attempt: Attempt | None) -> float | None:
    """When a refused row may be written again: 5 s after the first refusal, doubling, at most 10 min."""
    if attempt is None or attempt.answer != "refused":
        return None
    wait = BACKOFF_FIRST_S * 2.0 ** max(0, min(attempt.refusals, 30) - 1)
    return (attempt.answered_at or attempt.sent_at) + min(BACKOFF_MOST_S, wait)


def _approver(world: World, action: Action, attempt: Attempt | None) -> str:
    """Who approved exactly this, first of all; an approval is spent by the first success after it."""
    standing = [
        (approval.at, approval.by)
        for approval in world.intended.approvals
        if approval.digest == action.digest and counts(world, approval) and not _spent(approval, attempt)
    ]
    return min(standing)[1] if standing else ""


def counts(world: World, approval: Approval) -> bool:
    """Whether the approval still lives: it dies after 24 hours."""
    return world.now - approval.at < APPROVAL_S


def _spent(approval: Approval, attempt: Attempt | None) -> bool:
    if attempt is None or attempt.digest != approval.digest or attempt.answer != "ok":
        return False
    return (attempt.answered_at or attempt.sent_at) >= approval.at


# --- the second opinion ---------------------------------------------------------------------------------------


def opinion_of_run(world: World, joined: Joined) -> Opinion | None:
    """LiteLLM's newest opinion asked after the first counted miss. It is asked again every 10 min at the latest, so one
    that is much older comes from before a gap in our own readings and says nothing about now."""
    opinion, misses = joined.opinion, joined.memory.misses
    if opinion is None or misses is None or world.now - opinion.asked_at > OPINION_LASTS_S:
        return None
    return opinion if opinion.asked_at >= misses.first else None


def hold_of_delete(world: World, joined: Joined, anyone_answers: bool) -> Hold | None:
    """Why the removal for health waits; None when LiteLLM agrees, or had no information for long enough."""
    if joined.drained:
        return Hold("the key is drained, so its row stays until it is put back")
    if not world.good("vllm"):
        return Hold("the last round of probes failed, so the next one decides")
    opinion = opinion_of_run(world, joined)
    if opinion and opinion.state == "down":
        return None
    if opinion and opinion.state == "up":
        return Hold(_still_reached(world, joined, opinion))
    since = max(joined.memory.delete_wanted_since or world.now, joined.memory.last_up or 0.0)
    left = since + world.settings.opinion_wait_s - world.now
    if left > 0:
        return Hold(f"LiteLLM has not said whether it reaches the box; waiting {age(left)} for its opinion")
    if not anyone_answers:
        return Hold("LiteLLM gives no opinion, and not one box answers us: suspect this machine's network")
    return None


def _still_reached(world: World, joined: Joined, opinion: Opinion) -> str:
    place = box_name(joined.row.api_base) if joined.row and joined.row.api_base else joined.name
    asked = f"asked {ago(opinion.asked_at, world.now)}"
    return f"LiteLLM still reaches it at {place}, {asked}: suspect this machine's network"


def should_ask(world: World, joined: Joined) -> bool:
    """Whether LiteLLM's opinion of the row is wanted now: at miss T−1, again after 60 s and doubling to 10 min."""
    if joined.row is None or joined.going or not joined.failed:
        return False
    readings = max(1, world.settings.health_fail_threshold - 1)
    if not long_enough(joined.memory.misses, readings, world.sources["vllm"].interval_s):
        return False
    last = world.opinions.get(joined.row.id)
    first = joined.memory.first_asked
    if last is None or first is None or last.asked_at < first:
        return True
    wait = min(ASK_MOST_S, ASK_FIRST_S + last.asked_at - first)
    return world.now >= last.asked_at + wait


# --- absence and return ---------------------------------------------------------------------------------------


def absent(world: World, joined: Joined) -> bool:
    """Whether the key's row is believed to be gone: no snapshot of the last settle_s listed it, or our own delete of
    it was answered."""
    if joined.going:
        return True
    attempt = joined.attempt
    if attempt and attempt.kind in DELETES and attempt.answer == "ok":
        return True
    memory = world.rows.get(joined.row_id)
    return memory is None or world.now - memory.last_listed >= world.settings.settle_s


def probes_to_return(world: World, joined: Joined) -> tuple[int, int]:
    """(ok probes in a row so far, how many it takes) before a key that was removed for health is added again."""
    needed = probes_needed(world.settings, joined.memory)
    return (joined.memory.hits.n if needed and joined.memory.hits else 0), needed


def probes_needed(settings: Settings, memory: KeyMemory) -> int:
    """How many ok probes in a row it takes before the key is added again; 0 when it was never removed for health."""
    removals = len(memory.removals)
    return min(RETURN_MOST, settings.health_fail_threshold * 2 ** (removals - 1)) if removals else 0
