"""The laws of decision-table H over generated worlds; examples are the same in every run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from reconcile.identity import Key, deployment_id
from reconcile.view import Action
from tests.reconcile.laws import EVERY_PASS
from tests.reconcile.scenario import Scenario
from tests.reconcile.stage import Turn, play
from tests.reconcile.worlds import worlds

same_every_time = settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@same_every_time
@given(worlds())
def test_it_keeps_the_laws_in_any_world(world: Scenario) -> None:
    turns = play(world)
    for law in EVERY_PASS:
        law(turns[-1])
    for number, turn in enumerate(turns, 1):
        since = max(at for at, each in enumerate(turns[:number]) if at == 0 or each.step.restart)
        _runs_span_their_clocks(turns[since:number], turn)


def _runs_span_their_clocks(turns: list[Turn], turn: Turn) -> None:
    """Law 7, told from the readings alone: what was read since the last restart, and when."""
    for action in turn.decision.plan.actions:
        if action.status == "ready" and action.kind == "delete_litellm":
            _spans(set(_probed(turns, action)), turn.settings.health_fail_threshold, 15)
        if action.status == "ready" and action.kind == "prune_orphan":
            _spans(set(_listed(turns, action)), turn.settings.orphan_passes, 60)


def _spans(readings: set[float], needed: int, interval_s: float) -> None:
    assert len(readings) >= needed
    assert max(readings) - min(readings) >= 0.9 * (needed - 1) * interval_s


def _probed(turns: list[Turn], action: Action) -> Iterator[float]:
    """When the key's server was probed, as far as the decision could know."""
    for turn in turns:
        for probe in turn.snapshots.vllm.body.probes if turn.snapshots.vllm.body else ():
            if probe.base == action.key.url:
                yield probe.at


def _listed(turns: list[Turn], action: Action) -> Iterator[float]:
    """When the row was listed."""
    for turn in turns:
        source = turn.snapshots.deployments
        listed = source.body.deployments if source.body else ()
        if source.taken_at is not None and any(row.id == action.deployment_id for row in listed):
            yield source.taken_at


@pytest.mark.parametrize("second", [False, True])
def test_it_gives_two_keys_two_ids(second: bool) -> None:
    keys = [Key(url, model) for url in ("http://203.0.113.10:1", "http://203.0.113.1:01") for model in ("a", "1\na")]
    assert len({deployment_id(key, second=second) for key in keys}) == len(keys)
