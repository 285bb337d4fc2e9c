"""The one write that a key wants, if any (decision-table E)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from reconcile import bodies, guards, replacing
from reconcile.adoption import adoptable, candidates, stamp
from reconcile.guards import Hold
from reconcile.identity import Key, box_name, deployment_id
from reconcile.inputs import Deployment, Kind
from reconcile.join import DELETES, Joined, going
from reconcile.lifecycle import Verdict, missed_enough
from reconcile.skew import satisfied_by
from reconcile.view import WRITES, Action
from reconcile.words import ago, listed
from reconcile.world import World, index

ORDER: tuple[Kind, ...] = ("block", "unblock", "add_litellm", "update_litellm", "delete_litellm", "prune_orphan")


@dataclass(frozen=True, slots=True)
class Change:
    """What a write does and why; `cause` and `rule` as in `view.Action`."""

    kind: Kind
    reason: str
    cause: str
    rule: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    fields: tuple[str, ...] = ()


def wanted(world: World, joined: Joined, verdict: Verdict, anyone_answers: bool) -> Action | None:
    """The key's write with its status. Only called while the deployments snapshot counts and its fetch was good."""
    row = joined.row
    if row is None:
        return _wanted_without_row(world, joined)
    if joined.going:
        return _add(world, joined) if _may_add(world, joined) else _still_going(world, joined, row)
    if row.blocked != joined.drained and joined.memory.drained:
        return _drain(world, joined, row)
    if joined.failed and missed_enough(world, joined):
        return _delete(world, joined, row, verdict, anyone_answers)
    if joined.body and joined.differing and (joined.server is None or joined.ok) and not joined.drained:
        return _change(world, joined, row, joined.body)
    if old := replacing.replaced(world, joined):
        change = Change("delete_litellm", "replaced by a row without it", "replaced", "R69", before=bodies.shown(old))
        return _action(world, joined, change, row_id=old.id)
    return None


def _wanted_without_row(world: World, joined: Joined) -> Action | None:
    if stranger := adoptable(joined):
        return _adopt(world, joined, stranger)
    return _add(world, joined) if _may_add(world, joined) else None


def why_not_added(world: World, joined: Joined) -> str:
    """Why a healthy key without a row is not added now; "" when nothing stands in the way."""
    if joined.drained:
        return "drained: nothing is added"
    if not guards.absent(world, joined):
        return "its row was listed moments ago: a replica may not show it; added again once that is certain"
    so_far, needed = guards.probes_to_return(world, joined)
    if so_far < needed:
        return f"removed for health before: {so_far} of {needed} good probes before it returns"
    return ""


def _may_add(world: World, joined: Joined) -> bool:
    if joined.body is None or satisfied_by(joined) or candidates(joined):
        return False
    return (joined.server is None or joined.ok) and not why_not_added(world, joined)


def _add(world: World, joined: Joined) -> Action:
    seen = world.rows.get(joined.row_id)
    deleted = joined.attempt is not None and joined.attempt.kind in DELETES
    if joined.server is None:
        reason = f"{joined.name} is in models.yaml and has no row in LiteLLM"
    else:
        reason = f"it answers at {box_name(joined.dial.url or joined.key.url)} and has no row in LiteLLM"
    if seen and not deleted:
        reason += f"; somebody removed the row, which was last listed {ago(seen.last_listed, world.now)}"
        return _action(world, joined, Change("add_litellm", reason, "revert", "R21", after=joined.body))
    if not joined.intended:
        reason += "; it is not in fleet.hosts"
        return _action(world, joined, Change("add_litellm", reason, "new", "R29", after=joined.body))
    rule = "R04" if joined.server else "R24"
    return _action(world, joined, Change("add_litellm", reason, "new", rule, after=joined.body))


def _adopt(world: World, joined: Joined, stranger: Deployment) -> Action:
    reason = f"LiteLLM's row {stranger.id} is what this key wants, and our probe with its key is ok: it is taken over"
    change = Change(
        "update_litellm",
        reason,
        "adopted",
        "R18",
        before={"model_info.llmao_key": None},
        after=stamp(joined),
        fields=("model_info.llmao_key",),
    )
    return _action(world, joined, change, row_id=stranger.id)


def _drain(world: World, joined: Joined, row: Deployment) -> Action:
    """Take the row out of traffic, or put back what we took out."""
    kind: Kind = "block" if joined.drained else "unblock"
    why = "the key is drained" if joined.drained else "the key is no longer drained"
    before, after = {"blocked": row.blocked}, {"blocked": joined.drained}
    return _action(world, joined, Change(kind, why, "drained", "R66", before=before, after=after))


def _change(world: World, joined: Joined, row: Deployment, body: dict[str, Any]) -> Action:
    """An update, or where something must go that no merge can clear, the first half of a replace."""
    if not replacing.leftover(row, joined):
        return _update(world, joined, row, body)
    other = replacing.other_id(joined, row)
    after = bodies.with_id(body, other)
    change = Change("add_litellm", replacing.reason(row, joined), "replaced", "R69", after=after)
    return _action(world, joined, change, row_id=other)


def _update(world: World, joined: Joined, row: Deployment, body: dict[str, Any]) -> Action:
    have, want = bodies.shown(row), bodies.wanted_fields(body)
    names = listed([name.rpartition(".")[2] for name in joined.differing])
    if "model_info.llmao_body" not in joined.differing and row.llmao_body is not None:
        reason, cause, rule = f"somebody changed {names} of the row; putting it back", "revert", "R22"
    elif joined.server and "litellm_params.api_base" in joined.differing:
        place = box_name(want["model_info.asf_api_base"])
        reason, cause, rule = f"the box answers at {place}, the row has another address", "changed", "R07"
    elif have["litellm_params.model"] != want["litellm_params.model"]:
        served = want["litellm_params.model"].partition("/")[2]
        reason, cause, rule = f"the row asks for another model than {served}", "changed", "R68"
    else:
        reason, cause, rule = "the configuration of the row changed", "changed", "R69"
    change = Change(
        "update_litellm",
        reason,
        cause,
        rule,
        before={name: have[name] for name in joined.differing},
        after=bodies.with_id(body, row.id) if row.llmao_body else bodies.only(body, joined.differing),
        fields=joined.differing,
    )
    return _action(world, joined, change)


def _delete(world: World, joined: Joined, row: Deployment, verdict: Verdict, anyone_answers: bool) -> Action:
    hold = guards.hold_of_delete(world, joined, anyone_answers)
    rule = "R03" if verdict.lifecycle == "Stalled" else verdict.rule
    change = Change("delete_litellm", verdict.reason, "health", rule, before=bodies.shown(row))
    return _action(world, joined, change, hold)


def _still_going(world: World, joined: Joined, row: Deployment) -> Action | None:
    """Our delete was answered and a lagging replica lists the row: shown as settling, not sent again."""
    attempt = joined.attempt
    if attempt is None or attempt.kind != "delete_litellm":
        return None
    reason = "deleted; a replica may still list it"
    return _action(world, joined, Change("delete_litellm", reason, attempt.cause, "R44", before=bodies.shown(row)))


def keep_last_rows(world: World, planned: dict[Key, Action]) -> dict[Key, Action]:
    """With policy.keep_last_row: where all rows of a name would leave for health, one that could still stay is held."""
    leaving = {each.deployment_id: each for each in planned.values() if each.kind == "delete_litellm"}
    kept = dict(planned)
    for rows in index(world.deployments, lambda row: row.name).values() if world.settings.keep_last_row else ():
        if all(_leaves(world, row, leaving.get(row.id)) for row in rows):
            spared = [leaving[row.id] for row in rows if row.id in leaving and _can_stay(leaving[row.id])]
            kept |= {action.key: _spared(action, rows[0].name) for action in spared[:1]}
    return kept


def _leaves(world: World, row: Deployment, delete: Action | None) -> bool:
    return going(world, row) or (delete is not None and delete.status in WRITES)


def _can_stay(delete: Action) -> bool:
    return delete.status == "ready" and not delete.approved_by


def _spared(delete: Action, name: str) -> Action:
    why = f"{delete.reason}: it is the last row of {name}, and policy.keep_last_row is on"
    return replace(delete, status="held", reason=why)


def _action(
    world: World, joined: Joined, change: Change, hold: Hold | None = None, *, row_id: str | None = None
) -> Action:
    row_id = row_id or (deployment_id(joined.key) if change.kind == "add_litellm" else joined.row_id)
    discovered = change.kind == "add_litellm" and not joined.intended
    action = Action(
        kind=change.kind,
        key=joined.key,
        name=joined.name,
        deployment_id=row_id,
        reason=change.reason,
        policy=world.settings.permission("add_discovered" if discovered else change.kind),
        status="ready",
        digest=guards.digest(change.kind, joined.key, row_id, change.before, change.after),
        before=change.before,
        after=change.after,
        fields=change.fields,
        cause=change.cause,
        rule=change.rule,
    )
    return guards.with_status(world, action, world.attempts.get(row_id), hold)
