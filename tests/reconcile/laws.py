"""The laws of decision-table H that hold in every single pass, each as an assertion on one turn of a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from reconcile.decide import Decision, reconcile
from reconcile.history import begin
from reconcile.inputs import Listing, Snapshots, Source
from reconcile.matching import is_ours
from reconcile.view import Action
from tests.reconcile.stage import Turn
from tests.reconcile.turning import turned

REMOVALS = {"delete_litellm", "prune_orphan"}


def sent(decision: Decision, *kinds: str) -> set[tuple[str, str]]:
    """The writes that llmao would send of itself, of these kinds or of any: kind and deployment id."""
    ready = [action for action in decision.plan.actions if action.status == "ready" and not action.approved_by]
    return {(each.kind, each.deployment_id) for each in ready if not kinds or each.kind in kinds}


def decided(turn: Turn, snapshots: Snapshots) -> Decision:
    return reconcile(snapshots, turn.history, turn.settings, turn.now)


# --- 1: same input, same output -------------------------------------------------------------------------------


def decides_the_same_twice(turn: Turn) -> None:
    """Also: the inputs are not changed by deciding."""
    inputs = (turn.snapshots, turn.history, turn.settings)
    before = msgspec.json.encode(inputs)
    assert msgspec.json.encode(decided(turn, turn.snapshots)) == msgspec.json.encode(turn.decision)
    assert msgspec.json.encode(inputs) == before


def does_not_mind_the_order_of_rows(turn: Turn) -> None:
    again = decided(turn, turned(turn.snapshots))
    assert msgspec.json.encode(again, order="sorted") == msgspec.json.encode(turn.decision, order="sorted")


def survives_being_stored(turn: Turn) -> None:
    stored = msgspec.json.encode(turn.decision)
    assert msgspec.json.decode(stored, type=Decision) == turn.decision


# --- 3: an unread, stale or failed source never causes a removal ----------------------------------------------


def lost(source: Source[Any], now: float) -> Iterator[Source[Any]]:
    """The source never read, too old to count, and with a newest fetch that failed."""
    yield Source(interval_s=source.interval_s)
    yield replace(source, taken_at=now - 10 * source.interval_s)
    yield replace(source, failed_at=now, error="timeout")


def without(turn: Turn, name: str) -> list[Decision]:
    """What the step would have come to with that source lost: never read, stale, failed."""
    source = turn.snapshots.listings.get(name) or getattr(turn.snapshots, name)
    return [decided(turn, with_source(turn.snapshots, name, each)) for each in lost(source, turn.now)]


def with_source(snapshots: Snapshots, name: str, source: Source[Any]) -> Snapshots:
    if name in snapshots.listings:
        return replace(snapshots, listings={**snapshots.listings, name: source})
    return replace(snapshots, **{name: source})


def writes_nothing_without_a_good_reading_of_the_rows(turn: Turn) -> None:
    assert [sent(decision) for decision in without(turn, "deployments")] == [set(), set(), set()]


def removes_nothing_for_probes_that_are_lost(turn: Turn) -> None:
    allowed = sent(turn.decision, "prune_orphan")
    assert all(sent(decision, *REMOVALS) <= allowed for decision in without(turn, "vllm"))


def prunes_nothing_without_a_good_configuration(turn: Turn) -> None:
    never, _, failed = without(turn, "intended")
    assert sent(never) == set()
    assert sent(failed, "prune_orphan") == set()


def removes_nothing_for_a_listing_that_is_lost_or_empty(turn: Turn) -> None:
    """But for a box that has missed T probes, where the listing would have told of another port or instance. A whole
    and empty listing may also settle that nobody runs a box which no key claims; a lost one settles nothing."""
    allowed = sent(turn.decision, *REMOVALS)
    misses = _misses(turn.decision)
    for name, source in turn.snapshots.listings.items():
        for decision in without(turn, name):
            assert sent(decision, *REMOVALS) <= allowed | _longer(decision, misses)
        empty = decided(turn, with_source(turn.snapshots, name, replace(source, body=Listing(), taken_at=turn.now)))
        assert sent(empty, "delete_litellm") <= allowed | _longer(empty, misses)


def _longer(decision: Decision, misses: dict[str, int]) -> set[tuple[str, str]]:
    return {("delete_litellm", row) for row, run in _misses(decision).items() if run > misses.get(row, 0)}


def _misses(decision: Decision) -> dict[str, int]:
    return {each.deployment.id: each.misses for each in decision.view.records if each.deployment}


def removes_nothing_in_its_first_pass(turn: Turn) -> None:
    """Where a single reading is not made enough by a setting."""
    several = {name: max(2, getattr(turn.settings, name)) for name in ("health_fail_threshold", "orphan_passes")}
    settings = replace(turn.settings, **several)
    restarted = reconcile(turn.snapshots, begin(turn.now, turn.history.placed), settings, turn.now)
    assert sent(restarted, *REMOVALS) == set()


# --- 4 and 5: whose rows are left alone -----------------------------------------------------------------------


def keeps_the_row_of_a_box_that_answers(turn: Turn) -> None:
    records = turn.decision.view.records
    kept = {each.deployment.id for each in records if each.probe.state == "ok" and each.deployment}
    settling = {each.deployment_id for each in turn.decision.plan.actions if each.status == "settling"}
    removed = {each.deployment_id for each in turn.decision.plan.actions if each.kind in REMOVALS}
    assert not kept & (removed - settling)


def _is_stamp(action: Action) -> bool:
    """Whether it writes the adoption stamp and nothing else."""
    return action.kind == "update_litellm" and action.after == {"model_info": {"llmao_key": action.key.url}}


def never_writes_a_row_that_is_not_ours(turn: Turn) -> None:
    """A row of the config file may bear our id; adding our own row beside it writes nothing to that one."""
    rows = turn.snapshots.deployments.body
    theirs = [row for row in rows.deployments if not is_ours(row)] if rows else []
    actions = [each for each in turn.decision.plan.actions if not _is_stamp(each)]
    written = {(each.deployment_id, each.kind == "add_litellm") for each in actions}
    assert not {(row.id, False) for row in theirs} & written
    assert not {(row.id, True) for row in theirs if row.db_model} & written


EVERY_PASS = (
    decides_the_same_twice,
    does_not_mind_the_order_of_rows,
    survives_being_stored,
    writes_nothing_without_a_good_reading_of_the_rows,
    removes_nothing_for_probes_that_are_lost,
    prunes_nothing_without_a_good_configuration,
    removes_nothing_for_a_listing_that_is_lost_or_empty,
    removes_nothing_in_its_first_pass,
    keeps_the_row_of_a_box_that_answers,
    never_writes_a_row_that_is_not_ours,
)
