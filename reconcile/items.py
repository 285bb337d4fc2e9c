"""What a person should know or do: a sentence each, and nothing is written for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reconcile import guards
from reconcile.adoption import candidates, why_not
from reconcile.history import HostMemory
from reconcile.identity import Key, box_name
from reconcile.inputs import Deployment
from reconcile.join import Joined
from reconcile.records import of_row, unlisted_sentence
from reconcile.skew import satisfied_by
from reconcile.view import Action, Item, Record, SourceView
from reconcile.words import age, ago, count, listed
from reconcile.world import FUTURE_S, World

SKEW_WORDS = {
    "vllm_up_litellm_down": "it answers our probes, but LiteLLM calls it down",
    "vllm_down_litellm_up": "it does not answer our probes, but LiteLLM still reaches it",
    "mismatch": "its LiteLLM row differs",
    "at_listen_port": "its LiteLLM row has the listen port, which is not the public one",
}
CONTACT_CHANGE_S = 24 * 3600  # a change of a host's peer is shown this long


def of_sources(world: World) -> Iterator[Item]:
    """Sources that fail, are too old, or come from the future."""
    for source in world.sources.values():
        if sentence := _trouble(world, source):
            kind = "reading_from_the_future" if source.state == "future" else "source_failing"
            rule = "R60" if source.state == "future" else ""
            yield Item(kind=kind, name=source.name, reason=sentence, since=source.failed_at, rule=rule)


def _trouble(world: World, source: SourceView) -> str:
    read = f"last good reading {ago(source.taken_at, world.now)}"
    if source.state == "future":
        ahead = age((source.taken_at or 0.0) - world.now)
        return f"its reading is {ahead} ahead of the database's clock (more than {FUTURE_S} s): not believed"
    if source.failed_at is not None:
        return f"{source.error or 'the last fetch failed'}; {read}"
    if source.state == "stale":
        return f"{read}, which is too old to count"
    return ""


def of_unknown_boxes(world: World, intended: set[str]) -> Iterator[Item]:
    """Hosts nobody intended that presented the fleet key, newest first."""
    retired = {label.host for label in world.intended.labels if label.label == "retired"}
    for box in world.unknown_boxes:
        if box.host not in intended and box.host not in retired:
            asked = f"asked {count(box.count, 'time')}, last {ago(box.last_at, world.now)}"
            yield Item(
                kind="unknown_box",
                name=box.host,
                host=box.host,
                reason=f"presented the fleet key and nothing is assigned to it; {asked}",
                since=box.first_at,
                rule="R64",
            )


def of_contacts(world: World, intended: set[str]) -> Iterator[Item]:
    for host, box in sorted(world.boxes.items()):
        if host in intended and box.peer_changed_at and world.now - box.peer_changed_at < CONTACT_CHANGE_S:
            moved = f"its config was fetched from {box.peer}, before from {box.previous_peer}"
            yield Item(kind="peer_changed", name=host, host=host, reason=moved, since=box.peer_changed_at)


def of_ended_approvals(world: World) -> Iterator[Item]:
    """Approved servers that config drops or moves, now that it names their host."""
    servers = sorted(world.intended.servers, key=lambda each: -each.listen_port)
    wanted = {(each.host, each.model): each.listen_port for each in servers}  # of several ports the lowest
    kept = {(each.host, each.listen_port, each.model) for each in servers}
    for ended in world.intended.ended:
        if (ended.host, ended.listen_port, ended.model) not in kept:
            port = wanted.get((ended.host, ended.model))
            what = f"moves {ended.model} from {ended.listen_port} to {port}" if port else f"drops {ended.model}"
            reason = f"config.yaml names the host since {ago(ended.at, world.now)}, which ends its approval and {what}"
            name = f"{ended.host}:{ended.listen_port}/{ended.model}"
            yield Item(kind="approval_ended", name=name, host=ended.host, reason=reason, since=ended.at)


def of_approvals(world: World, planned: tuple[Action, ...]) -> Iterator[Item]:
    """Approvals that nothing in the plan matches: what differs from what was approved, and when it dies."""
    digests = {action.digest for action in planned}
    alike = {(action.kind, action.key): action for action in planned}
    for approval in world.intended.approvals:
        if approval.digest in digests or not guards.counts(world, approval):
            continue
        left = age(approval.at + guards.APPROVAL_S - world.now)
        now_wanted = alike.get((approval.kind, approval.key))
        differs = _differs(approval.seen, now_wanted) if now_wanted else "nothing of the kind is planned now"
        reason = f"{approval.by} approved it {ago(approval.at, world.now)}, and {differs}; the approval dies in {left}"
        name = f"{box_name(approval.key.url)}/{approval.key.model}"
        yield Item(kind="approval_differs", name=name, key=approval.key, reason=reason, since=approval.at, rule="R50")


def _differs(seen: dict[str, Any], action: Action) -> str:
    """What is planned now otherwise than it was shown, by the names of the fields."""
    then = {name: value for side in ("before", "after") for name, value in _leaves(side, seen.get(side))}
    now = {name: value for side in ("before", "after") for name, value in _leaves(side, getattr(action, side))}
    names = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    return f"what is planned now differs in {listed(names)}" if names else "another row is meant now"


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value and "secret" not in value:
        for inner, each in value.items():
            yield from _leaves(f"{name}.{inner}", each)
    elif value is not None:
        yield name, value


def of_record(record: Record) -> Iterator[Item]:
    """What the verdicts of one key ask of a person."""
    if record.lifecycle in ("Stalled", "Unhealthy"):
        yield _item(record, record.lifecycle.lower(), record.reason, record.rule)
    if record.probe.state == "open":
        yield _item(record, "open_server", record.probe.detail, "R62")
    for skew in record.skew:
        if skew in SKEW_WORDS:
            yield _item(record, "skew", f"{SKEW_WORDS[skew]}{_fields(record, skew)}", "R09")


def of_joined(joined: Joined) -> Iterator[Item]:
    """What stands in a key's way beside its own state."""
    if joined.place.rivals:
        why = f"instances {' and '.join(joined.place.rivals)} both map this port on the host's one IP"
        yield _beside(joined, "ambiguous_ports", why, "R56")
    if standing := why_not(joined):
        for row in candidates(joined):
            why = f"LiteLLM's row {row.id} has this name and address and is not ours: {standing}"
            yield _beside(joined, "unmanaged", why, "R20" if joined.row else "R18")
    if not joined.intended:
        why = f"nobody intended it and it serves {joined.key.model}: not in fleet.hosts"
        yield _beside(joined, "discovered", why, "R29")
    if joined.row is None:
        for row in joined.foreign:
            if not row.db_model and not satisfied_by(joined):
                why = f"a row of LiteLLM's config file, {row.id}, has this name at another address of the box"
                yield _beside(joined, "config_row", why, "R19")


def _beside(joined: Joined, kind: str, reason: str, rule: str) -> Item:
    return Item(kind=kind, name=joined.name, key=joined.key, host=joined.host, reason=reason, rule=rule)


def of_unclaimed(world: World, row: Deployment) -> Item:
    """A row that no key claims and that is not ours."""
    record = of_row(world, row)
    kind = "unmanaged" if row.db_model else "config_row"
    return Item(kind=kind, name=record.name, key=record.key, host=record.host, reason=record.reason, rule=record.rule)


def of_host(world: World, host: HostMemory) -> Item:
    return Item(
        kind="unlisted",
        name=host.host,
        host=host.host,
        reason=unlisted_sentence(world, host),
        rule="R12",
        since=host.absences.first if host.absences else None,
    )


def of_action(world: World, action: Action) -> Iterator[Item]:
    """Writes that fail, and removals that are held."""
    attempt = world.attempts.get(action.deployment_id)
    if action.status == "backing_off" and attempt and action.next_try is not None:
        again = f"next try in {age(action.next_try - world.now)}"
        reason = f"LiteLLM refused {attempt.kind}: {attempt.detail or 'without a reason'}; {again}"
        yield _about(action, "write_failing", reason, "R45")
    if action.status == "held":
        yield _about(action, "held", action.reason, "R46")
    if action.status == "parked" and attempt:
        reason = f"LiteLLM refused {attempt.kind} {count(attempt.refusals, 'time')}: {attempt.detail or 'no reason'}"
        yield _about(
            action, "parked", f"{reason}; not sent again until its row changes or somebody presses Retry", "R67"
        )


def of_configurations(world: World) -> Iterator[Item]:
    at = world.other_configuration_at
    if at is not None and world.now - at < world.settings.history_keep_s:
        why = f"another process with another configuration renewed the lease {ago(at, world.now)}: stop one of the two"
        yield Item(kind="two_configurations", name="lease", reason=why, since=at)


def order(item: Item) -> tuple[str, str, str, str]:
    key = item.key or Key("", "")
    return item.kind, item.name, key.url, item.reason


def _item(record: Record, kind: str, reason: str, rule: str) -> Item:
    return Item(kind=kind, name=record.name, key=record.key, host=record.host, reason=reason, rule=rule)


def _about(action: Action, kind: str, reason: str, rule: str) -> Item:
    return Item(kind=kind, name=action.name, key=action.key, reason=reason, rule=rule)


def _fields(record: Record, skew: str) -> str:
    differing = record.deployment.differing if record.deployment else ()
    names = ", ".join(name.rpartition(".")[2] for name in differing)
    return f": {names}" if names and skew == "mismatch" else ""
