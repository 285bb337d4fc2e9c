"""The loop: load → reconcile → store → execute → fetch → again, until nothing is ready.

Every published snapshot, every approval and a slow tick wake it; only the holder of the lease runs it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from django.db import transaction

from fleet import (
    clock,
    config,
    events,
    evidence,
    fetching,
    keys,
    lease,
    passes,
    recorder,
    remembered,
    replays,
    snapshots,
    timing,
    wake,
)
from fleet.config import Config, ConfigErrors
from fleet.lease import Held, LeaseLost
from fleet.recorder import Recorder
from fleet.replays import PassInput
from fleet.sources.configuration import client
from litellm_sync.client import LiteLLM, LiteLLMError
from litellm_sync.executor import Batch, carry_out
from reconcile.decide import Decision, reconcile
from reconcile.settings import Settings

log = logging.getLogger(__name__)
BATCH_LEAST_S = 2.0  # a batch goes on for one clock of probes: a box may be back by then
MOST_ROUNDS = 200  # of one run; whoever needs more is woken again by the tick


@dataclass(frozen=True)
class Decided:
    """A stored pass: its number, what was decided, and under which settings."""

    id: int
    decision: Decision
    settings: Settings


def run() -> int:
    """Decide, and write what is ready, until nothing is. Returns the number of passes; 0 when another process is
    at it, which then also takes up what this call was woken for."""
    configuration = _configuration()
    held = lease.take(configuration.hash if configuration else "")
    if held is None:
        return 0
    try:
        if held.edited:
            fetching.fetch("intended", waking=False)
        if recorder.unread():
            _read_back()
        return _rounds(held, configuration)
    except LeaseLost as lost:
        log.warning("lease_lost %s", lost)
        return 0
    finally:
        held.drop()


def _rounds(held: Held, configuration: Config | None) -> int:
    may_execute = configuration is not None
    for rounds in range(1, MOST_ROUNDS + 1):
        seen = lease.wanted()
        decided = _pass(held)
        batch = _execute(decided, held, configuration) if configuration and may_execute else Batch(sent=0)
        if batch.stopped == "lease_lost":
            raise LeaseLost("another process took the lease during the writes")
        if batch.sent:
            _read_back()
        if batch.sent or batch.stopped:
            may_execute = not batch.stopped  # no answer: the next wake-up tries again, not this one in a tight loop
            continue
        _follow_up(decided)
        if held.give_back(seen):
            return rounds
    return MOST_ROUNDS


def _read_back() -> None:
    """After writes, also those of a holder that was ended among them: what was tried, and what LiteLLM has now."""
    fetching.fetch("attempts", waking=False)
    fetching.fetch("deployments", waking=False)


def _configuration() -> Config | None:
    """The configuration as it is, else the last good one of this process; None when there never was one."""
    try:
        return config.current()
    except ConfigErrors:
        return config.last_good()


def _pass(held: Held) -> Decided:
    """One pass, stored with its history in one transaction that only the lease's holder can commit."""
    started = time.monotonic()
    snapshots = evidence.load(held.two_configurations_at)
    settings = snapshots.intended.body.settings if snapshots.intended.body else Settings()
    now = clock.now()
    afresh = held.two_configurations_at is not None and now - held.two_configurations_at < settings.history_keep_s
    history = remembered.load(now, settings.history_keep_s, afresh=afresh)
    decision = reconcile(snapshots, history, settings, now)
    with transaction.atomic():
        held.passed()
        remembered.save(decision.history, history.placed)
        took_s = time.monotonic() - started
        number = passes.store(now, decision.view, decision.plan, evidence.taken_at(snapshots), took_s)
        changed = events.note(number, now, decision.view)
        given = PassInput(snapshots=snapshots, history=history, settings=settings, now=now)
        replays.keep(number, given, decision, changed)
    return Decided(number, decision, settings)


def _execute(decided: Decided, held: Held, configuration: Config) -> Batch:
    ready = [action for action in decided.decision.plan.actions if action.status == "ready"]
    if not ready:
        return Batch(sent=0)
    litellm = client(configuration)
    if trouble := _not_writable(litellm):
        log.warning("litellm_not_writable %s", trouble)
        snapshots.fail("deployments", trouble, clock.now())
        return Batch(sent=0, stopped="unanswered")
    return carry_out(
        ready,
        litellm,
        keys.secrets_by_hash(configuration, (action.after for action in ready)),
        Recorder(decided.id),
        may_write=held.renew,
        limit=decided.settings.actions_per_pass,
        patience_s=max(BATCH_LEAST_S, timing.intervals()["vllm"]),
    )


def _not_writable(litellm: LiteLLM) -> str:
    """Why nothing may be written now: a row added to a proxy without its database is lost at its next restart, and a
    key that is not the admin's sees other rows than there are."""
    try:
        ready = litellm.readiness()
    except LiteLLMError as failure:
        return failure.message
    return "" if ready.connected else f"LiteLLM cannot keep what is written to it: {ready.detail}"


def _follow_up(decided: Decided) -> None:
    """Readings that this pass asked for: LiteLLM's opinion of some rows, listings of hosts that stopped answering."""
    view = decided.decision.view
    if view.ask:
        wake.send("fleet.fetch", "opinions wanted", "litellm_health")
    for provider in view.refresh:
        if fetching.due_early(provider):
            wake.send("fleet.fetch", "a placed host stopped answering", provider)
