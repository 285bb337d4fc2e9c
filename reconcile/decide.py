"""The decision: everything that llmao concludes, in one pure function of values."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reconcile import actions, discovered, guards, items, join, lifecycle, matching, memory, orphans, records, rollup
from reconcile.history import History, HostMemory, KeyMemory, RowMemory
from reconcile.identity import Key, address_url, box_name
from reconcile.inputs import Deployment, Server, Snapshots
from reconcile.join import Joined
from reconcile.lifecycle import Verdict
from reconcile.settings import Settings
from reconcile.view import Action, Item, Plan, Record, Target, View
from reconcile.world import World, index, observe

ASKED_AT_ONCE = 20  # health questions to LiteLLM per pass: each is a real completion
FORGET_ROW_S = 600  # a row that was not listed for this long (and twice settle_s) is forgotten


class Decision(msgspec.Struct, frozen=True):
    view: View
    plan: Plan
    history: History


def reconcile(snapshots: Snapshots, history: History, settings: Settings, now: float) -> Decision:
    """Decide one pass. Same input, same output, same order; the inputs are not changed.

    `history` is the last pass's, or `history.begin(now, placed)`; `now` is the database's time.
    """
    world = observe(snapshots, history, settings, now)
    joined = _joined(world)
    hosts = {host: memory.of_host(world, host) for host in sorted({each.host for each in joined if each.host})}
    row_keys = {row.id: each.key for each in joined for row in each.ours}
    rows = _rows(world, joined, row_keys)
    strays = orphans.find(world, joined, rows)
    verdicts = [(each, _verdict(world, each, rows)) for each in joined]
    planned = _planned(world, verdicts)
    claimed = set(row_keys) | {row.id for each in joined for row in each.foreign}
    unclaimed = tuple(row for row in world.deployments if row.id not in claimed)
    shown = tuple(
        records.of_key(world, each, verdict, planned.get(each.key), (hosts.get(each.host), rows.get(each.row_id)))
        for each, verdict in verdicts
    )
    view = View(
        records=tuple(sorted((*shown, *(records.of_row(world, row) for row in unclaimed)), key=_record_order)),
        models=rollup.models(world, verdicts, unclaimed),
        sources=tuple(world.sources.values()),
        targets=_targets(world, joined),
        ask=_questions(world, joined, rows),
        refresh=_early(world, joined),
    )
    prunes = orphans.actions(world, strays) if _may_plan(world) else ()
    ordered = tuple(sorted((*planned.values(), *prunes), key=_action_order))
    standing = (
        *_general_items(world, joined, ordered),
        *_record_items(shown, joined),
        *_row_items(world, hosts, unclaimed),
    )
    found = tuple(sorted((*standing, *orphans.items(world, strays), *_action_items(world, ordered)), key=items.order))
    return Decision(view, Plan(mode=settings.mode, actions=ordered, items=found), _history(world, joined, hosts, rows))


def _joined(world: World) -> list[Joined]:
    """Every key that somebody wants, with its evidence; self-hosted first, each in the order of its name."""
    wanted = (*world.intended.servers, *discovered.servers(world))
    servers = sorted(wanted, key=lambda each: (each.host, each.listen_port, each.model))
    bought = sorted((model for model in world.intended.models if not model.self_hosted), key=join.model_key)
    keys = [*map(join.server_key, servers), *map(join.model_key, bought)]
    rows = matching.indexed(world.deployments, keys)
    return [*(join.box(world, rows, each) for each in servers), *(join.provider(world, rows, each) for each in bought)]


def _verdict(world: World, joined: Joined, rows: dict[str, RowMemory]) -> Verdict:
    if joined.server:
        return lifecycle.of_box(world, joined)
    return lifecycle.of_provider(world, joined, rows.get(joined.row_id))


def _may_plan(world: World) -> bool:
    """Nothing at all is written without a good and fresh reading of LiteLLM's rows, and of what is wanted."""
    return world.good("deployments") and world.counts("intended")


def _planned(world: World, verdicts: list[tuple[Joined, Verdict]]) -> dict[Key, Action]:
    """The write of each key that wants one."""
    if not _may_plan(world):
        return {}
    anyone_answers = any(each.ok for each, _ in verdicts)
    found = ((each.key, actions.wanted(world, each, verdict, anyone_answers)) for each, verdict in verdicts)
    return actions.keep_last_rows(world, {key: action for key, action in found if action is not None})


def _rows(world: World, joined: list[Joined], keys: dict[str, Key]) -> dict[str, RowMemory]:
    """The memory of every row that is listed, or was within the time that absence takes to be believed."""
    opinions = {each.row.id: each.opinion for each in joined if each.row}
    if not world.counts("deployments"):
        return world.rows
    own = {each.row.id for each in joined if each.row}
    listed = {
        row.id: orphans.counted(
            world,
            memory.of_row(world, row, keys.get(row.id), opinions.get(row.id)),
            claimed=row.id in own or not matching.is_ours(row),
        )
        for row in world.deployments
    }
    keep_s = max(FORGET_ROW_S, 2 * world.settings.settle_s)
    gone = {
        each.id: each for each in world.rows.values() if each.id not in listed and world.now - each.last_listed < keep_s
    }
    return listed | gone


def _targets(world: World, joined: list[Joined]) -> tuple[Target, ...]:
    """What to probe: every server with a dialable URL, and running inventory hosts that nobody intended."""
    wanted = {each.key.url: _target(each.server, each.key.url, each.dial.url) for each in joined if each.server}
    found = {base: target for base, target in wanted.items() if target is not None}
    return tuple(sorted((*found.values(), *_strangers(world, wanted)), key=lambda each: each.base))


def _target(server: Server, base: str, url: str | None) -> Target | None:
    return Target(base=base, host=server.host, listen_port=server.listen_port, url=url) if url else None


def _strangers(world: World, wanted: dict[str, Target | None]) -> Iterator[Target]:
    """Mapped ports of running instances on hosts that nobody intended, where the intended source knows their key."""
    known = world.intended.discovered_key_hashes
    seen: set[str] = set()
    for provider in world.listings:
        for host, instances in sorted(world.listings[provider].items()):
            for instance in instances:
                for listen, public in sorted(instance.ports.items()) if instance.running else ():
                    base = address_url(host, listen)
                    if base not in wanted and base not in seen and box_name(base) in known:
                        seen.add(base)
                        yield Target(base=base, host=host, listen_port=listen, url=address_url(host, public))


def _questions(world: World, joined: list[Joined], rows: dict[str, RowMemory]) -> tuple[str, ...]:
    """Rows to ask LiteLLM about now: second opinions first, then the ordinary round, a few at a time."""
    urgent = [each.row.id for each in joined if each.row and guards.should_ask(world, each)]
    due = [each.row.id for each in joined if each.row and _due(world, each, rows.get(each.row.id))]
    return tuple(dict.fromkeys((*urgent, *due)))[:ASKED_AT_ONCE]


def _due(world: World, joined: Joined, row: RowMemory | None) -> bool:
    """Whether the row's ordinary question is due; a commercial row called down is asked again after 1, 5, 15 min."""
    asked = world.opinions.get(joined.row_id)
    if asked is None or asked.asked_at < join.written_at(joined.attempt):
        return not joined.going and world.good("deployments")
    wait = world.settings.litellm_health_interval_s
    if joined.server is None and row and row.downs:
        wait = min(wait, lifecycle.RETRY_DOWN_S[min(row.downs, len(lifecycle.RETRY_DOWN_S)) - 1])
    return world.now - asked.asked_at >= wait


def _early(world: World, joined: list[Joined]) -> tuple[str, ...]:
    """Providers whose listing should be read early: a host they placed stopped answering."""
    missing = {each.place.shown.provider for each in joined if each.failed and each.place.shown.provider}
    return tuple(sorted(name for name in missing if name in world.listings))


def _general_items(world: World, joined: list[Joined], planned: tuple[Action, ...]) -> Iterator[Item]:
    wanted = {each.host for each in joined if each.intended}
    yield from items.of_configurations(world)
    yield from items.of_sources(world)
    yield from items.of_unknown_boxes(world, wanted)
    yield from items.of_contacts(world, wanted)
    yield from items.of_ended_approvals(world)
    yield from items.of_approvals(world, planned)


def _record_items(shown: tuple[Record, ...], joined: list[Joined]) -> Iterator[Item]:
    for record in shown:
        yield from items.of_record(record)
    for each in joined:
        yield from items.of_joined(each)


def _row_items(world: World, hosts: dict[str, HostMemory | None], unclaimed: tuple[Deployment, ...]) -> Iterator[Item]:
    yield from (items.of_host(world, host) for host in hosts.values() if host and host.unlisted)
    yield from (items.of_unclaimed(world, row) for row in unclaimed if not matching.is_ours(row))


def _action_items(world: World, planned: tuple[Action, ...]) -> Iterator[Item]:
    for action in planned:
        yield from items.of_action(world, action)


def _history(
    world: World, joined: list[Joined], hosts: dict[str, HostMemory | None], rows: dict[str, RowMemory]
) -> History:
    keys: dict[Key, KeyMemory] = {each.key: each.memory for each in joined}
    by_host = index((each for each in joined if each.host), lambda each: each.host)
    places = {
        host: ([each.place for each in found], any(each.intended for each in found)) for host, found in by_host.items()
    }
    return History(
        began_at=world.began_at,
        passed_at=world.now,
        keys=tuple(keys[key] for key in sorted(keys)),
        hosts=tuple(host for host in hosts.values() if host),
        rows=tuple(rows[identifier] for identifier in sorted(rows)),
        placed=memory.placing(world, places),
    )


def _record_order(record: Record) -> tuple[str, str, str]:
    return record.name, record.key.url, record.deployment.id if record.deployment else ""


def _action_order(action: Action) -> tuple[bool, int, str, str]:
    """Creates without an answer are finished first; then adds, updates, deletes, prunes."""
    return not action.resume, actions.ORDER.index(action.kind), action.name, action.deployment_id
