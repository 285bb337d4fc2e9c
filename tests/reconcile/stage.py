"""Plays a scenario: one call of the decision a step, with what stood, what was told anew, and the clock moved on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import UNSET

from reconcile.decide import Decision, reconcile
from reconcile.history import History, begin
from reconcile.inputs import (
    Approval,
    Attempts,
    Boxes,
    Deployments,
    HostLabel,
    Intended,
    Listing,
    Opinions,
    Snapshots,
    Source,
)
from reconcile.settings import Settings
from reconcile.view import Action, Plan
from tests.reconcile import fleet_of_case as told
from tests.reconcile import readings, remembered
from tests.reconcile.fleet_of_case import Fleet
from tests.reconcile.given_words import ApprovalWords, Given, HistoryWords, SourceWords
from tests.reconcile.scenario import NOW, Raw, Scenario, Step, read

INTERVALS = {
    "intended": 60.0,
    "boxes": 60.0,
    "vllm": 15.0,
    "deployments": 60.0,
    "litellm_health": 14400.0,
    "attempts": 60.0,
    "samples": 15.0,
    "vast": 60.0,
    "runpod": 60.0,
}
STATES = ("unread", "stale", "failed", "failed and stale")


@dataclass(frozen=True)
class Turn:
    """One step as played: what went in and what came out. `planned` is the plan of the step before."""

    step: Step
    fleet: Fleet
    snapshots: Snapshots
    history: History
    settings: Settings
    now: float
    planned: Plan
    decision: Decision


def play(scenario: Scenario) -> list[Turn]:
    if scenario.raw is not UNSET:
        return [_as_it_was(scenario.raw, *scenario.steps())]
    stage = Stage()
    return [stage.take(step) for step in scenario.steps()]


def _as_it_was(raw: Raw, step: Step) -> Turn:
    """A pass whose input is there field by field."""
    intended = raw.snapshots.intended.body or Intended()
    listings = raw.snapshots.listings
    instances = {provider: source.body.instances for provider, source in listings.items() if source.body}
    fleet = Fleet(servers=intended.servers, models=intended.models, instances=instances)
    decision = reconcile(raw.snapshots, raw.history, raw.settings, raw.now)
    return Turn(step, fleet, raw.snapshots, raw.history, raw.settings, raw.now, Plan(), decision)


@cache
def played(path: Path) -> list[Turn]:
    """A scenario file, played once for all that is asserted of it: nothing in a turn can change."""
    return play(read(path.read_bytes()))


class Stage:
    """What stands between two steps."""

    def __init__(self) -> None:
        self.now = NOW
        self.words: dict[str, Any] = {}
        self.events: dict[str, Any] = {}
        self.sources: dict[str, Source[Any]] = {}
        self.history: History | None = None
        self.plan = Plan()

    def take(self, step: Step) -> Turn:
        self.now += step.after_s
        given = step.given
        self._remember(given)
        fleet = self._fleet()
        self._happen(fleet, given)
        snapshots = self._snapshots(fleet, given)
        history = self._history(fleet, step)
        settings = self._settings()
        decision = reconcile(snapshots, history, settings, self.now)
        turn = Turn(step, fleet, snapshots, history, settings, self.now, self.plan, decision)
        self.history, self.plan = decision.history, decision.plan
        return turn

    def _remember(self, given: Given) -> None:
        stated = {name: getattr(given, name) for name in Given.__struct_fields__}
        self.words |= {name: value for name, value in stated.items() if value is not UNSET}
        self.words["history"] = given.history

    def _said(self, name: str, otherwise: Any = ()) -> Any:
        return self.words.get(name, otherwise)

    def _fleet(self) -> Fleet:
        servers = tuple(map(told.server, self._said("servers")))
        named = tuple(map(told.model, self._said("models")))
        others = dict.fromkeys(each.model for each in servers if each.model not in {model.name for model in named})
        listings = self._said("listings", {})
        return Fleet(
            servers=servers,
            models=(*named, *map(told.model, others)),
            instances={provider: tuple(map(told.instance, listed)) for provider, listed in listings.items()},
        )

    def _happen(self, fleet: Fleet, given: Given) -> None:
        """What the step tells of once for all: it keeps its time, and a row its bytes, while the clock moves on."""
        now = self.now
        if given.rows is not UNSET:
            self.events["rows"] = tuple(readings.row(fleet, each) for each in given.rows)
        if given.opinions is not UNSET:
            self.events["opinions"] = tuple(readings.opinion(fleet, each, now) for each in given.opinions)
        if given.attempts is not UNSET:
            sent = (readings.attempt(fleet, each, self._planned(each.kind, each.of), now) for each in given.attempts)
            self.events["attempts"] = tuple(sent)
        if given.approvals is not UNSET:
            self.events["approvals"] = tuple(self._approval(each) for each in given.approvals)
        if given.config is not UNSET or given.unknown_boxes is not UNSET:
            fetches, strangers = self._said("config"), self._said("unknown_boxes")
            self.events["boxes"] = readings.boxes(fleet, fetches, strangers, now)

    def _planned(self, kind: str, name: str) -> Action | None:
        return next((each for each in self.plan.actions if (each.kind, each.name) == (kind, name)), None)

    def _approval(self, words: ApprovalWords) -> Approval:
        seen = self._planned(words.kind, words.of)
        if seen is None:
            raise ValueError(f"the step before planned no {words.kind} of {words.of}, so nobody can have approved it")
        shown = {"deployment_id": seen.deployment_id, "before": seen.before, "after": seen.after}
        return Approval(
            digest=seen.digest, kind=seen.kind, key=seen.key, at=self.now - words.age_s, by=words.by, seen=shown
        )

    def _settings(self) -> Settings:
        words = self._said("settings", {})
        unknown = set(words) - set(Settings.__struct_fields__)
        if unknown:
            raise ValueError(f"no setting is called {sorted(unknown)}: there are {list(Settings.__struct_fields__)}")
        return Settings(**words)

    def _intended(self, fleet: Fleet) -> Intended:
        labels = self._said("labels", {}).items()
        return Intended(
            servers=fleet.servers,
            models=fleet.models,
            labels=tuple(HostLabel(host=host, label=label, at=NOW - 60, by="ann") for host, label in labels),
            approvals=self.events.get("approvals", ()),
            ended=tuple(told.ended(name, self.now - ago) for name, ago in self._said("ended", {}).items()),
            drained=tuple(fleet.key(name) for name in self._said("drained")),
            discovered_key_hashes=self._said("strangers", {}),
            settings=self._settings(),
        )

    def _snapshots(self, fleet: Fleet, given: Given) -> Snapshots:
        events = self.events
        bodies: dict[str, Any] = {
            "intended": self._intended(fleet),
            "boxes": events.get("boxes", Boxes()),
            "vllm": readings.probes(fleet, self._said("probes"), self.now),
            "deployments": Deployments(deployments=events.get("rows", ())),
            "litellm_health": Opinions(opinions=events.get("opinions", ())),
            "attempts": Attempts(attempts=events.get("attempts", ())),
        }
        if self._said("samples", {}):
            bodies["samples"] = readings.samples(self._said("samples"), self.now)
        listings = {name: Listing(instances=listed) for name, listed in fleet.instances.items()}
        states = self._said("sources", {})
        unknown = (set(states) | set(given.kept)) - {*bodies, *listings}
        if unknown:
            raise ValueError(f"no source is called {sorted(unknown)}")
        read = {
            name: self._source(name, body, states.get(name, ""), name in given.kept)
            for name, body in (*bodies.items(), *listings.items())
        }
        self.sources = read
        other = given.other_configuration_s_ago
        return Snapshots(
            **{name: read[name] for name in bodies},
            listings={name: read[name] for name in listings},
            other_configuration_at=None if other is None else self.now - other,
        )

    def _source(self, name: str, body: Any, words: str | SourceWords, kept: bool) -> Source[Any]:
        """The source in the state that the words say. One that failed, or was not read again, is as it was."""
        interval_s = self._said("intervals", {}).get(name, INTERVALS[name])
        before = self.sources.get(name)
        if isinstance(words, SourceWords):
            failed_at = None if words.failed_s_ago is None else self.now - words.failed_s_ago
            taken_at = None if words.age_s is None else self.now - words.age_s
            read = None if taken_at is None else body
            return Source(interval_s=interval_s, body=read, taken_at=taken_at, failed_at=failed_at, error=words.error)
        if words not in ("", *STATES):
            raise ValueError(f"a source is {', '.join(STATES)}, not {words!r}")
        if words == "unread":
            return Source(interval_s=interval_s)
        taken_at = self.now - 1
        if (kept or words == "failed") and before is not None:
            body, taken_at = before.body, before.taken_at
        if "stale" in words:
            taken_at = self.now - max(self._settings().health_fail_threshold, 2) * interval_s - 1
        failed_at = self.now if "failed" in words else None
        error = "timeout" if failed_at else ""
        return Source(interval_s=interval_s, body=body, taken_at=taken_at, failed_at=failed_at, error=error)

    def _history(self, fleet: Fleet, step: Step) -> History:
        words = step.given.history
        if self.history is None:
            return remembered.history(fleet, HistoryWords() if words is UNSET else words, self.now)
        if words is not UNSET:
            raise ValueError("history carries over: only the first step can state it (a later one may `restart`)")
        return begin(self.now, self.history.placed) if step.restart else self.history
