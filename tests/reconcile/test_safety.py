"""Every scenario again with a source lost, a listing emptied, or llmao restarted: not knowing never removes a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reconcile.decide import Decision, reconcile
from reconcile.history import begin
from reconcile.inputs import Listing, Snapshots, Source
from reconcile.matching import is_ours
from tests.reconcile.scenario import files
from tests.reconcile.stage import Turn, played

REMOVALS = {"delete_litellm", "prune_orphan"}

each_case = pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)


def sent(decision: Decision, *kinds: str) -> set[tuple[str, str]]:
    """The writes that llmao would send of itself, of these kinds or of any: kind and deployment id."""
    ready = [action for action in decision.plan.actions if action.status == "ready" and not action.approved_by]
    return {(each.kind, each.deployment_id) for each in ready if not kinds or each.kind in kinds}


def lost(source: Source[Any], now: float) -> Iterator[Source[Any]]:
    """The source never read, too old to count, and with a newest fetch that failed."""
    yield Source(interval_s=source.interval_s)
    yield replace(source, taken_at=now - 10 * source.interval_s)
    yield replace(source, failed_at=now, error="timeout")


def without(turn: Turn, name: str) -> Iterator[Decision]:
    """What the step would have come to with that source lost."""
    snapshots = turn.snapshots
    for source in lost(snapshots.listings.get(name) or getattr(snapshots, name), turn.now):
        yield decided(turn, with_source(snapshots, name, source))


def with_source(snapshots: Snapshots, name: str, source: Source[Any]) -> Snapshots:
    if name in snapshots.listings:
        return replace(snapshots, listings={**snapshots.listings, name: source})
    return replace(snapshots, **{name: source})


def decided(turn: Turn, snapshots: Snapshots) -> Decision:
    return reconcile(snapshots, turn.history, turn.settings, turn.now)


@each_case
def test_it_writes_nothing_without_a_good_reading_of_the_rows(path: Path) -> None:
    for turn in played(path):
        assert all(sent(decision) == set() for decision in without(turn, "deployments"))


@each_case
def test_it_removes_nothing_for_probes_that_are_lost(path: Path) -> None:
    for turn in played(path):
        allowed = sent(turn.decision, "prune_orphan")
        assert all(sent(decision, *REMOVALS) <= allowed for decision in without(turn, "vllm"))


@each_case
def test_it_prunes_nothing_without_a_good_configuration(path: Path) -> None:
    for turn in played(path):
        never, _, failed = without(turn, "intended")
        assert sent(never) == set()
        assert sent(failed, "prune_orphan") == set()


@each_case
def test_it_removes_nothing_for_a_listing_that_is_lost_or_empty(path: Path) -> None:
    for turn in played(path):
        allowed = sent(turn.decision, *REMOVALS)
        for name, source in turn.snapshots.listings.items():
            empty = replace(source, body=Listing(), taken_at=turn.now)
            changed = [*without(turn, name), decided(turn, with_source(turn.snapshots, name, empty))]
            assert all(sent(decision, *REMOVALS) <= allowed for decision in changed)


@each_case
def test_it_removes_nothing_in_its_first_pass(path: Path) -> None:
    for turn in played(path):
        settings = replace(turn.settings, health_fail_threshold=max(2, turn.settings.health_fail_threshold))
        settings = replace(settings, orphan_passes=max(2, settings.orphan_passes))
        restarted = reconcile(turn.snapshots, begin(turn.now, turn.history.placed), settings, turn.now)
        assert sent(restarted, *REMOVALS) == set()


@each_case
def test_it_never_writes_a_row_that_is_not_ours(path: Path) -> None:
    for turn in played(path):
        rows = turn.snapshots.deployments.body
        theirs = {row.id for row in rows.deployments if not is_ours(row)} if rows else set()
        assert not theirs & {identifier for _, identifier in sent(turn.decision)}


@each_case
def test_it_keeps_the_row_of_a_box_that_answers(path: Path) -> None:
    for turn in played(path):
        kept = {
            each.deployment.id for each in turn.decision.view.records if each.probe.state == "ok" and each.deployment
        }
        assert not kept & {identifier for _, identifier in sent(turn.decision, *REMOVALS)}
