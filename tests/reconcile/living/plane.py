"""llmao in a living world: its database, its fetchers, its loop. The decision and the executor are the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from litellm_sync.client import LiteLLMError
from litellm_sync.executor import Outcome, carry_out
from reconcile.decide import Decision, reconcile
from reconcile.history import History, PlacedHost, begin
from reconcile.inputs import (
    Attempt,
    Attempts,
    Box,
    Boxes,
    Deployments,
    Listing,
    Opinion,
    Opinions,
    Probes,
    Served,
    ServedServer,
    Snapshots,
    Source,
    UnknownBox,
)
from reconcile.settings import Settings
from reconcile.view import Action, View
from tests.reconcile.living import boxes as real
from tests.reconcile.living.proxy import Killed, Proxy
from tests.reconcile.living.wishes import House, Wishes

CLOCKS = {"vllm": 15.0, "deployments": 60.0, "vast": 60.0, "runpod": 60.0, "intended": 60.0}
INTERVALS = {**CLOCKS, "boxes": 60.0, "attempts": 60.0, "litellm_health": 14400.0}
LEASE_S = 60.0
MOST_ROUNDS = 40
EARLY_S = 60.0


@dataclass(frozen=True)
class Passed:
    """One pass: what went in and what came out."""

    snapshots: Snapshots
    history: History
    settings: Settings
    now: float
    decision: Decision


@dataclass
class Trouble:
    """What goes wrong with llmao's own reading: sources whose fetch fails, or is not run at all; hosts that a listing
    leaves out although it is complete; how long LiteLLM takes over a question of health."""

    failing: set[str] = field(default_factory=set)
    idle: set[str] = field(default_factory=set)
    omitted: dict[str, set[str]] = field(default_factory=lambda: {"vast": set(), "runpod": set()})
    lease_lost: int = 0
    opinion_takes_s: float = 0.2


class Plane:
    """One llmao. `wishes` is replaced when another control plane has its turn; `watch` sees each pass and write."""

    def __init__(self, now: float, wishes: Wishes, truth: real.Boxes, replicas: int) -> None:
        self.now = now
        self.wishes, self.truth, self.house, self.trouble = wishes, truth, House(), Trouble()
        self.sources: dict[str, Source[Any]] = {name: Source(interval_s=s) for name, s in INTERVALS.items()}
        self.attempts: dict[str, Attempt] = {}
        self.contacts: dict[str, Box] = {}
        self.unknown: dict[str, UnknownBox] = {}
        self.history: History | None = None
        self.placed: tuple[PlacedHost, ...] = ()
        self.other_configuration_at: float | None = None
        self.view = View()
        self.early = dict.fromkeys(("vast", "runpod"), 0.0)
        self.asleep_until = 0.0
        self.passes: list[Callable[[Passed], None]] = []
        self.writes: list[Callable[[Action, Passed], None]] = []
        self.litellm = Proxy(truth, lambda: self.now, replicas)

    # --- reading --------------------------------------------------------------------------------------------------

    def fetch(self, name: str) -> None:
        """Read a source, or fail to; nothing happens while its fetcher is idle."""
        if name in self.trouble.idle:
            return
        started, self.now = self.now, self.now + 0.1
        body = None if name in self.trouble.failing else self._read(name, started)
        source = self.sources[name]
        if body is None:
            self.sources[name] = replace(source, failed_at=self.now, error="timeout")
        else:
            self.sources[name] = replace(source, body=body, taken_at=started, failed_at=None, error="")

    def _read(self, name: str, started: float) -> Any:
        if name in ("vast", "runpod"):
            return self._listing(name)
        if name == "intended":
            return None if self.wishes.invalid else self.wishes.read(self.house)
        if name == "vllm":
            return self._probes(started)
        if name == "deployments":
            return self._rows()
        assert name == "litellm_health"
        return self._opinions(started)

    def _listing(self, provider: str) -> Listing:
        omitted = self.trouble.omitted[provider]
        found = tuple(box.listed() for box in self.truth.all if box.provider == provider and box.host not in omitted)
        self.house.listed[provider] = found
        return Listing(instances=found)

    def _probes(self, started: float) -> Probes:
        before = {each.base: each for each in self._body("vllm", Probes()).probes}
        found = (
            real.probed(
                self.truth,
                target,
                self.wishes.key_of(target.host, target.listen_port),
                started + number * 0.01,
                before.get(target.base),
            )
            for number, target in enumerate(self.view.targets)
        )
        return Probes(probes=tuple(found))

    def _rows(self) -> Deployments | None:
        try:
            return Deployments(deployments=self.litellm.deployments())
        except LiteLLMError:
            return None

    def _opinions(self, started: float) -> Opinions:
        listed = {row.id: row for row in self._body("deployments", Deployments()).deployments}
        kept = {each.id: each for each in self._body("litellm_health", Opinions()).opinions if each.id in listed}
        for number, identifier in enumerate(each for each in self.view.ask if each in listed):
            state: Any = self.litellm.health(identifier)
            kept[identifier] = Opinion(id=identifier, state=state, asked_at=started + number * 0.01)
        return Opinions(opinions=tuple(kept[each] for each in sorted(kept)))

    def _body(self, name: str, otherwise: Any) -> Any:
        return self.sources[name].body or otherwise

    def contact(self, host: str) -> None:
        """The box fetches its config."""
        told = tuple(
            ServedServer(listen_port=port, model=wish.model)
            for (where, port), wish in sorted(self.wishes.servers.items())
            if where == host and host not in self.house.retired
        )
        if not told:
            self.unknown[host] = UnknownBox(host=host, first_at=self.now, last_at=self.now, count=1)
            return
        served = Served(revision=repr(told), first_at=self.now, last_at=self.now, servers=told)
        before = self.contacts.get(host)
        self.contacts[host] = Box(host=host, seen_at=self.now, served=(*(before.served if before else ()), served)[-2:])

    # --- deciding -------------------------------------------------------------------------------------------------

    def snapshots(self) -> Snapshots:
        intended = self._body("intended", None)
        listings = intended.listings if intended else ()
        own = {
            "boxes": Boxes(boxes=tuple(self.contacts.values()), unknown=tuple(self.unknown.values())),
            "attempts": Attempts(attempts=tuple(self.attempts[each] for each in sorted(self.attempts))),
        }
        for name, body in own.items():
            self.sources[name] = replace(self.sources[name], body=body, taken_at=self.now)
        named = {name: source for name, source in self.sources.items() if name not in ("vast", "runpod")}
        return Snapshots(
            **named,
            listings={name: self.sources[name] for name in listings},
            other_configuration_at=self.other_configuration_at,
        )

    def step(self) -> Passed:
        """One pass, stored."""
        snapshots = self.snapshots()
        settings = snapshots.intended.body.settings if snapshots.intended.body else Settings()
        other = self.other_configuration_at
        afresh = other is not None and self.now - other < settings.history_keep_s
        kept = self.history
        if kept is None or afresh or self.now - kept.passed_at > settings.history_keep_s:
            kept = begin(self.now, self.placed)
        decision = reconcile(snapshots, kept, settings, self.now)
        self.history, self.placed, self.view = decision.history, decision.history.placed, decision.view
        passed = Passed(snapshots, kept, settings, self.now, decision)
        for watch in self.passes:
            watch(passed)
        return passed

    def run(self) -> None:
        """The loop as the program has it: decide, write what is ready, read again, until nothing is ready."""
        may_execute = True
        for _ in range(MOST_ROUNDS):
            if self.now < self.asleep_until:
                return
            passed = self.step()
            sent, stopped = self._execute(passed) if may_execute else (0, "")
            if stopped in ("killed", "lease_lost"):
                return
            if sent:
                self.fetch("deployments")
            if sent or stopped:
                may_execute = not stopped
                continue
            if self._follow_up(passed.decision.view):
                continue
            return
        raise AssertionError(f"the loop wrote {MOST_ROUNDS} times running and found no end")

    def _execute(self, passed: Passed) -> tuple[int, str]:
        actions = passed.decision.plan.actions
        if self.litellm.down and any(each.status == "ready" for each in actions):
            self.sources["deployments"] = replace(self.sources["deployments"], failed_at=self.now, error="refused")
            return 0, "unanswered"
        client: Any = self.litellm
        try:
            batch = carry_out(
                actions,
                client,
                _Itself(),
                Notes(self, passed),
                may_write=self._may_write,
                limit=passed.settings.actions_per_pass,
            )
        except Killed:
            self.asleep_until = self.now + LEASE_S
            return 0, "killed"
        return batch.sent, batch.stopped

    def _may_write(self) -> bool:
        self.trouble.lease_lost -= 1
        return self.trouble.lease_lost != 0

    def _follow_up(self, view: View) -> bool:
        """Readings that the pass asked for; True when there was news."""
        news = False
        for provider in view.refresh:
            if self.now - self.early[provider] >= EARLY_S:
                self.early[provider] = self.now
                self.fetch(provider)
                news = True
        if view.ask and "litellm_health" not in self.trouble.idle | self.trouble.failing:
            self.now += self.trouble.opinion_takes_s
            self.fetch("litellm_health")
            news = True
        return news


class _Itself(dict[str, str]):
    """In this world a secret is its own hash."""

    def __missing__(self, name: str) -> str:
        return name

    def __contains__(self, name: object) -> bool:
        return True


class Notes:
    """The executor's recorder: attempts in llmao's database, and the first success spends its approvals."""

    def __init__(self, plane: Plane, passed: Passed) -> None:
        self._plane, self._passed = plane, passed

    def begin(self, action: Action) -> None:
        plane = self._plane
        for watch in plane.writes:
            watch(action, self._passed)
        before = plane.attempts.get(action.deployment_id)
        plane.now += 0.05
        plane.attempts[action.deployment_id] = Attempt(
            deployment_id=action.deployment_id,
            kind=action.kind,
            key=action.key,
            digest=action.digest,
            cause=action.cause,
            after=action.after,
            sent_at=plane.now,
            refusals=before.refusals if before else 0,
        )

    def finish(self, action: Action, outcome: Outcome) -> None:
        plane = self._plane
        plane.now += 0.05
        attempt = plane.attempts[action.deployment_id]
        refusals = {"ok": 0, "refused": attempt.refusals + 1}.get(outcome.answer, attempt.refusals)
        plane.attempts[action.deployment_id] = replace(
            attempt, answer=outcome.answer, answered_at=plane.now, detail=outcome.detail, refusals=refusals
        )
        if outcome.answer == "ok":
            plane.house.approvals = [each for each in plane.house.approvals if each.digest != action.digest]
