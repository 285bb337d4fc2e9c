"""The laws of decision-table H over time, told from what was read, what was sent and what is true; nothing is taken
from what the decision remembers of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from reconcile.identity import Key, address_url, has_our_form
from reconcile.inputs import Model, Opinion, Probe, Source
from reconcile.probe import judge
from reconcile.view import Action, Plan
from tests.reconcile import laws
from tests.reconcile.fleet_of_case import Fleet
from tests.reconcile.living.plane import Passed, Plane
from tests.reconcile.living.proxy import Row
from tests.reconcile.scenario import Step
from tests.reconcile.stage import Turn

EVERY = 100  # passes between two in which the laws of a single pass are tried with each source lost
ALWAYS = (laws.keeps_the_row_of_a_box_that_answers, laws.never_writes_a_row_that_is_not_ours)
REMOVALS = laws.REMOVALS


@dataclass(frozen=True)
class Sent:
    """A write that left us."""

    kind: str
    id: str
    after: Any
    at: float
    resume: bool


class Watch:
    """Sees each pass and each write of a plane and holds them to the laws."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.began: float | None = None
        self.probes: dict[str, list[Probe]] = {}
        self.rows: dict[str, list[float]] = {}
        self.sent: list[Sent] = []
        self.served_since: dict[Key, float] = {}
        self.count = 0
        self.last: Passed | None = None
        plane.passes.append(self.of_pass)
        plane.writes.append(self.of_write)

    # --- each pass ------------------------------------------------------------------------------------------------

    def of_pass(self, passed: Passed) -> None:
        self.count += 1
        self.last = passed
        self._note(passed)
        self._note_truth(passed)
        turn = Turn(
            Step(after_s=0),
            Fleet((), (), {}),
            passed.snapshots,
            passed.history,
            passed.settings,
            passed.now,
            Plan(),
            passed.decision,
        )
        for law in laws.EVERY_PASS if self.count % EVERY == 0 else ALWAYS:
            law(turn)
        actions = passed.decision.plan.actions
        assert len({each.deployment_id for each in actions}) == len(actions), "two writes of one row"
        for action in actions:
            if action.status == "ready":
                self._may_be_ready(action, passed)

    def _note(self, passed: Passed) -> None:
        """What was read since this history began, each reading once."""
        if passed.history.began_at != self.began:
            self.began, self.probes, self.rows = passed.history.began_at, {}, {}
        vllm, deployments = passed.snapshots.vllm, passed.snapshots.deployments
        for probe in vllm.body.probes if vllm.body and believed(vllm, passed) else ():
            seen = self.probes.setdefault(probe.base, [])
            if not seen or seen[-1].at != probe.at:
                seen.append(probe)
        for row in deployments.body.deployments if deployments.body else ():
            times = self.rows.setdefault(row.id, [])
            if deployments.taken_at is not None and deployments.taken_at not in times:
                times.append(deployments.taken_at)

    def _note_truth(self, passed: Passed) -> None:
        """Since when each wanted server has truly answered us and LiteLLM, at one address."""
        truth = {wish.key: self._truly(wish.key) for wish in self.plane.wishes.servers.values()}
        self.served_since = {key: self.served_since.get(key, passed.now) for key, answers in truth.items() if answers}

    def _truly(self, key: Key) -> bool:
        return any(True for _ in self.usable(key))

    def usable(self, key: Key) -> Iterator[Row]:
        """Rows under the key's name that lead to the key's own server, which answers us and LiteLLM now."""
        litellm, truth = self.plane.litellm, self.plane.truth
        for row in litellm.store.values():
            url = str(row.params.get("api_base") or "").removesuffix("/v1")
            serves = row.name == key.model and litellm.serves(row, asking=False)
            if serves and truth.leads_to(url, key.url) and self._answers_us(url, row):
                yield row

    def _answers_us(self, url: str, row: Row) -> bool:
        program = self.plane.truth.at(url)
        model = str(row.params["model"]).partition("/")[2]
        works = self.plane.truth.works("llmao", url, row.params.get("api_key"), model, asking=False)
        return works and program is not None and not program.takes_any_key

    # --- what may be sent -----------------------------------------------------------------------------------------

    def _may_be_ready(self, action: Action, passed: Passed) -> None:
        sources = passed.snapshots
        assert passed.settings.mode == "act", "in mode observe nothing is sent"
        assert good(sources.deployments, passed), "law 3: no write without a good reading of the rows"
        if action.kind == "delete_litellm" and action.cause != "replaced":
            assert good(sources.vllm, passed), "law 3: no removal for probes that failed or are stale"
            first, last = self._missed(action, passed)
            if not action.approved_by:
                self._second_opinion(action, passed, first, last)
        if action.kind == "prune_orphan":
            assert sources.intended.failed_at is None, "law 3: no prune without a good configuration"
            n, interval_s = passed.settings.orphan_passes, sources.deployments.interval_s
            spans("law 7", self.rows.get(action.deployment_id, []), n, interval_s)

    def _missed(self, action: Action, passed: Passed) -> tuple[float, float]:
        """The first miss of the run, and the one that made it long enough."""
        record = next(each for each in passed.decision.view.records if each.key == action.key)
        models = passed.snapshots.intended.body.models if passed.snapshots.intended.body else ()
        model = next((each for each in models if each.self_hosted and each.name == action.key.model), None)
        misses: list[float] = []
        for probe in self.probes.get(action.key.url, []):
            if probe.url != record.dialable_url or answered(probe, model):
                misses = []
            else:
                misses.append(probe.at)
        n, interval_s = passed.settings.health_fail_threshold, passed.snapshots.vllm.interval_s
        spans("law 7", misses, n, interval_s)
        long = (
            at for number, at in enumerate(misses, 1) if number >= n and at - misses[0] >= 0.9 * (n - 1) * interval_s
        )
        return misses[0], next(long)

    def _second_opinion(self, action: Action, passed: Passed, first: float, last: float) -> None:
        """E: LiteLLM says down, or has had no information for as long as one waits for it, and some box answers."""
        opinion = self._opinion(action.deployment_id, passed)
        if opinion and opinion.asked_at >= first and opinion.state != "unknown":
            assert opinion.state == "down", "E: a row that LiteLLM reaches was to be deleted"
            return
        waited = passed.now - last
        assert waited >= passed.settings.opinion_wait_s, f"E: waited {waited} s for LiteLLM's opinion"
        assert any(each.probe.state == "ok" for each in passed.decision.view.records), "E: not one box answers us"

    def _opinion(self, identifier: str, passed: Passed) -> Opinion | None:
        found = passed.snapshots.litellm_health.body
        return next((each for each in found.opinions if each.id == identifier), None) if found else None

    # --- each write -----------------------------------------------------------------------------------------------

    def of_write(self, action: Action, passed: Passed) -> None:
        self._not_twice(action, passed)
        if action.kind in REMOVALS and not action.approved_by:
            self._takes_nothing_that_serves(action, passed)
        if action.kind == "update_litellm" or action.cause == "replaced":
            self._empties_no_name(action)
        self.sent.append(Sent(action.kind, action.deployment_id, action.after, self.plane.now, action.resume))

    def _not_twice(self, action: Action, passed: Passed) -> None:
        """Law 8."""
        of_row = [each for each in self.sent if each.id == action.deployment_id]
        last = of_row[-1] if of_row else None
        attempt = self.plane.attempts.get(action.deployment_id)
        if last is None or attempt is None or (last.kind, last.after) != (action.kind, action.after):
            return
        if attempt.answer in ("refused", "unsent") or action.resume:
            return
        assert passed.now - last.at >= passed.settings.settle_s, f"law 8: {action.kind} of {action.name} sent twice"

    def _takes_nothing_that_serves(self, action: Action, passed: Passed) -> None:
        """Law 4, told from the truth: a row that has served for longer than any evidence can be old stays, unless the
        key has another one."""
        intended = passed.snapshots.intended.body
        wanted = (
            {Key(address_url(each.host, each.listen_port), each.model) for each in intended.servers}
            if intended
            else set()
        )
        patience_s = (passed.settings.health_fail_threshold + 2) * 15 + passed.settings.settle_s
        for key, since in self.served_since.items():
            if key in wanted and passed.now - since > patience_s:
                usable = [row.id for row in self.usable(key)]
                assert usable != [action.deployment_id], f"law 4: {action.kind} of {action.name}, which serves"

    def _empties_no_name(self, action: Action) -> None:
        """Law 6: an update or a replace leaves every name a row that serves, where it had one."""
        litellm, after = self.plane.litellm, action.after or {}
        row = litellm.store.get(action.deployment_id)
        if row is None or not self._serves_its_name(row):
            return
        others = [each for each in litellm.store.values() if each.name == row.name and each.id != row.id]
        if any(self._serves_its_name(each) for each in others):
            return
        params = {**row.params, **plain(after.get("litellm_params", {}))}
        updated = replace(row, name=after.get("model_name", row.name), params=params)
        still = action.kind != "delete_litellm" and updated.name == row.name and self._serves_its_name(updated)
        assert still, f"law 6: {action.kind} of {action.name} leaves {row.name} without a row that serves"

    def _serves_its_name(self, row: Row) -> bool:
        """Whether callers of the row's name get an answer of a server that was told to serve that name."""
        model = str(row.params.get("model", "")).partition("/")[2]
        served = self.plane.wishes.names.get(row.name)
        return served is not None and model == served and self.plane.litellm.serves(row, asking=False)


def plain(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as LiteLLM gets them: in this world a secret is its own hash."""
    return {
        name: value["secret"] if isinstance(value, dict) and "secret" in value else value
        for name, value in params.items()
    }


def believed(source: Source[Any], passed: Passed) -> bool:
    if source.taken_at is None:
        return False
    patience_s = max(passed.settings.health_fail_threshold, 2) * source.interval_s
    return passed.now - source.taken_at <= patience_s


def good(source: Source[Any], passed: Passed) -> bool:
    return believed(source, passed) and source.failed_at is None


def answered(probe: Probe, model: Model | None) -> bool:
    return judge(probe, model, open_allowed=False).state == "ok"


def spans(law: str, readings: list[float], needed: int, interval_s: float) -> None:
    assert len(readings) >= needed, f"{law}: {len(readings)} of {needed} readings"
    span_s = readings[-1] - readings[0]
    assert span_s >= 0.9 * (needed - 1) * interval_s, f"{law}: {len(readings)} readings within {span_s} s"


def is_ours(row: Row) -> bool:
    return row.db_model and (row.info.get("llmao_key") is not None or has_our_form(row.id))
