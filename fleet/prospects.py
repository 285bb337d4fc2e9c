"""What would change a deployment's verdict or its row: how much is still missing, in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from fleet import models, replays, snapshots
from fleet.passes import Shown
from fleet.replays import NotKept
from reconcile.guards import probes_needed
from reconcile.history import History, HostMemory, KeyMemory, RowMemory, Run
from reconcile.identity import box_name, identifiers
from reconcile.inputs import Intended
from reconcile.lifecycle import RETRY_DOWN_S
from reconcile.runs import SPAN
from reconcile.settings import Settings
from reconcile.view import Action, Record, View
from reconcile.words import age, count


@dataclass(frozen=True)
class Recalled:
    """What a pass left remembered, and the settings that it was decided under."""

    settings: Settings
    history: History

    def key(self, record: Record) -> KeyMemory:
        found = (each for each in self.history.keys if each.key == record.key)
        return next(found, KeyMemory(key=record.key, since=0.0))

    def host(self, record: Record) -> HostMemory | None:
        return next((each for each in self.history.hosts if each.host == record.host), None)

    def row(self, record: Record) -> RowMemory | None:
        wanted = record.deployment.id if record.deployment else ""
        return next((each for each in self.history.rows if each.id == wanted), None)


def recall(shown: Shown) -> Recalled | None:
    """What the newest pass left behind, or what a pass that can be replayed comes to; None for any other."""
    row = models.Memory.objects.filter(name="history", passed_at=shown.at).first()
    try:
        if row is not None:
            intended = snapshots.latest("intended", Intended) or Intended()
            return Recalled(intended.settings, snapshots.unpack(row.body, History))
        given = replays.load(shown.id)
    except (NotKept, msgspec.DecodeError):
        return None
    return Recalled(given.settings, given.decide().history)


def prospects(shown: Shown, record: Record, recalled: Recalled, now: float) -> list[str]:
    """A line for each thing that would change."""
    actions = [action for action in shown.plan.actions if action.key == record.key]
    lines = [*_lifecycle(shown.view, record, recalled, now), *_listing(shown.view, record, recalled)]
    if not actions:
        lines += _row(shown.view, record, recalled, now)
    lines += [line for action in actions if (line := _write(action, now))]
    return lines


# --- the lifecycle --------------------------------------------------------------------------------------------


def _lifecycle(view: View, record: Record, recalled: Recalled, now: float) -> Iterator[str]:
    if record.origin == "none":
        return
    if not record.host:
        yield _provider(record, recalled, now)
    elif record.dialable_url is None:
        yield "probed once a listing, a pin or our own row gives an address"
    elif record.lifecycle == "Healthy":
        yield _to_unhealthy(view, recalled.key(record).misses, recalled.settings)
    else:
        yield f"Healthy at the next good probe of {_place(record)}"
        yield from _not_healthy(view, record, recalled)


def _not_healthy(view: View, record: Record, recalled: Recalled) -> Iterator[str]:
    if record.lifecycle == "Unknown":
        yield _to_unhealthy(view, recalled.key(record).misses, recalled.settings)
    elif record.lifecycle == "Awaiting":
        yield "Loading once the box fetches its config"
    elif record.lifecycle == "Loading":
        grace = age(recalled.settings.health_grace_s)
        yield f"Stalled when it does not serve within {grace} of first getting its config"


def _to_unhealthy(view: View, misses: Run | None, settings: Settings) -> str:
    """How far a run of misses is from long enough."""
    needed = settings.health_fail_threshold
    so_far = misses.n if misses else 0
    if so_far < needed:
        return f"Unhealthy at {count(needed, 'miss', 'misses')}: {needed - so_far} more"
    return f"Unhealthy once its misses span {_span(view, 'vllm', needed)}: {age(_length(misses))} so far"


def _provider(record: Record, recalled: Recalled, now: float) -> str:
    row, asked = recalled.row(record), record.litellm_health.asked_at
    if record.lifecycle == "Unhealthy":
        return "Healthy when LiteLLM's own check reaches it again"
    if row is not None and row.downs and asked is not None:
        again = RETRY_DOWN_S[min(row.downs, len(RETRY_DOWN_S)) - 1] - (now - asked)
        return f"Unhealthy when LiteLLM says down once more: asked again in {age(again)}"
    return "Unhealthy when LiteLLM says down twice running, Healthy when it says up"


# --- the listing ----------------------------------------------------------------------------------------------


def _listing(view: View, record: Record, recalled: Recalled) -> Iterator[str]:
    host = recalled.host(record) if record.origin != "none" else None
    if host is None:
        return
    if host.unlisted:
        yield f"listed again at the first {record.placed or 'provider'} listing that has {host.host}"
    elif host.absences:
        needed = recalled.settings.unlisted_passes
        if host.absences.n < needed:
            yield f"unlisted at {count(needed, 'listing')} without it: {needed - host.absences.n} more"
        else:
            yield f"unlisted once they span {_span(view, record.placed, needed)}: {age(_length(host.absences))} so far"


# --- the row --------------------------------------------------------------------------------------------------


def _row(view: View, record: Record, recalled: Recalled, now: float) -> Iterator[str]:
    """What would be written, where no write is pending."""
    if _state(view, "deployments") != "fresh":
        yield "nothing is written until LiteLLM's rows are read again"
    elif record.origin == "none":
        yield _unclaimed(view, record, recalled)
    elif record.drained and record.deployment is None:
        yield "added once it is no longer drained"
    elif record.host and record.deployment is None:
        yield _return(record, recalled, now)


def _return(record: Record, recalled: Recalled, now: float) -> str:
    memory = recalled.key(record)
    missing = probes_needed(recalled.settings, memory) - (memory.hits.n if memory.hits else 0)
    if missing > 0 and memory.removals:
        return f"added again after {count(missing, 'more good probe')}"
    if record.probe.state != "ok":
        return "added at its first good probe"
    own = identifiers(record.key)
    listed_at = max((each.last_listed for each in recalled.history.rows if each.id in own), default=0.0)
    left = listed_at + recalled.settings.settle_s - now
    return f"added again once no replica of LiteLLM can still list its old row: in {age(left)}"


def _unclaimed(view: View, record: Record, recalled: Recalled) -> str:
    row = recalled.row(record)
    if record.deployment is None or record.deployment.state != "ours":
        return "nothing: llmao never touches a row that is not its own"
    needed = recalled.settings.orphan_passes
    so_far = row.orphan.n if row and row.orphan else 0
    over = f"pruned after {count(needed, 'reading')} over {_span(view, 'deployments', needed)}"
    return f"{over}: {needed - so_far} more" if so_far < needed else over


def _write(action: Action, now: float) -> str:
    approve = f"`manage.py approve {action.digest}`"
    in_time = age(action.next_try - now) if action.next_try is not None else "a while"
    return {
        "ready": f"{action.kind} is sent by the loop next",
        "settling": f"{action.kind} was sent; LiteLLM has {in_time} to show it everywhere",
        "backing_off": f"{action.kind} is tried again in {in_time}",
        "held": f"{action.kind} is sent once LiteLLM calls it down too, or after {approve}",
        "needs_human": f"{action.kind} is sent after {approve}",
        "parked": f"{action.kind} is tried again when what it writes changes",
        "observed": f"{action.kind} is sent once policy.mode is act",
    }.get(action.status, "")


# --- words ----------------------------------------------------------------------------------------------------


def _place(record: Record) -> str:
    return box_name(record.dialable_url or "")


def _length(run: Run | None) -> float:
    return run.last - run.first if run else 0.0


def _state(view: View, source: str) -> str:
    return next((each.state for each in view.sources if each.name == source), "unread")


def _span(view: View, source: str, readings: int) -> str:
    """The time that a run of so many readings of a source has to span."""
    interval_s = next((each.interval_s for each in view.sources if each.name == source), 0.0)
    return age(SPAN * (readings - 1) * interval_s)
