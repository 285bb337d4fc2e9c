"""Rows of ours that no key claims (decision-table E, prune_orphan): counted, kept with a sentence, or pruned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from reconcile import bodies, guards
from reconcile.history import RowMemory
from reconcile.identity import Key, box_name, host_of, same_address
from reconcile.inputs import Deployment
from reconcile.join import Joined, going
from reconcile.matching import is_ours
from reconcile.replacing import being_replaced
from reconcile.runs import grown, long_enough
from reconcile.view import Action, Item
from reconcile.words import age, count, listed
from reconcile.world import World

WINDOW_S = 600  # prunes are counted together over this long before they count as many


@dataclass(frozen=True, slots=True)
class Orphan:
    """A row of ours that nobody claims; `kept` is why it stays although its run is long enough, `undecided` says that
    only something unread keeps it: it still counts among those that would go."""

    row: Deployment
    key: Key
    name: str
    memory: RowMemory
    due: bool
    kept: str
    undecided: bool


def counted(world: World, row: RowMemory, *, claimed: bool) -> RowMemory:
    """The row's memory after this reading of it. Only good and fresh readings of both sides prove an orphan."""
    if claimed:
        return row if row.orphan is None else replace(row, orphan=None)
    read_at = world.taken_at("deployments")
    if not _both_good(world) or (row.orphan and read_at <= row.orphan.last):
        return row
    return replace(row, orphan=grown(row.orphan, read_at))


def _both_good(world: World) -> bool:
    return world.good("intended") and world.good("deployments")


def find(world: World, joined: list[Joined], rows: dict[str, RowMemory]) -> list[Orphan]:
    """Our rows that are no key's own: unclaimed ones, and further ones of a key."""
    own = {each.row.id for each in joined if each.row}
    own |= {old.id for each in joined if (old := being_replaced(each))}
    further = {row.id for each in joined for row in each.ours}
    found = (row for row in world.deployments if is_ours(row) and row.id not in own and not going(world, row))
    return [_orphan(world, row, () if row.id in further else joined, rows[row.id]) for row in found if row.id in rows]


def actions(world: World, orphans: list[Orphan]) -> Iterator[Action]:
    """A prune for each orphan whose time has come; many at once need a person."""
    alarm = _too_many(world, [each for each in orphans if each.due and (each.undecided or not each.kept)])
    for each in orphans:
        if each.due and not each.kept:
            yield _prune(world, each, alarm)


def items(world: World, orphans: Iterable[Orphan]) -> Iterator[Item]:
    """What stands in the way of a prune, or how far its run has come."""
    for each in orphans:
        if each.due and not each.kept:
            continue
        run = each.memory.orphan
        so_far = f"a row of ours that no key claims, seen so {count(run.n if run else 0, 'time')}"
        needed = world.settings.orphan_passes
        reason = each.kept or f"{so_far}; pruned after {needed} readings over {age(_span_s(world))}"
        yield Item(
            kind="orphan",
            name=each.name,
            key=each.key,
            reason=reason,
            rule="R61" if each.kept else "R15",
            since=run.first if run else None,
        )


def _orphan(world: World, row: Deployment, heirs: Sequence[Joined], memory: RowMemory) -> Orphan:
    """`heirs`: keys that a row may wait for; a further row of a current key waits for none."""
    key = Key(row.llmao_key or row.api_base or "", row.name)
    interval_s = world.sources["deployments"].interval_s
    renamed, unsure = _renamed(world, row, heirs)
    undecided = _undecided(world, key)
    return Orphan(
        row=row,
        key=key,
        name=f"{box_name(key.url) or 'no address'}/{row.name}",
        memory=memory,
        due=_both_good(world) and long_enough(memory.orphan, world.settings.orphan_passes, interval_s),
        kept=renamed or undecided,
        undecided=unsure if renamed else bool(undecided),
    )


def _renamed(world: World, row: Deployment, heirs: Sequence[Joined]) -> tuple[str, bool]:
    """Kept while its URL is that of a current key without a row, and the address is not known to be silent; True when
    that is so only because no probe tells."""
    places = [each for each in heirs if each.row is None and each.server and _same_place(row, each)]
    waiting = [each for each in places if not _silent(world, each)]
    if not waiting:
        return "", False
    heir = waiting[0]
    return f"renamed? kept until {box_name(heir.key.url)} serves {heir.key.model}", not any(
        each.read for each in waiting
    )


def _undecided(world: World, key: Key) -> str:
    """Kept while a listing that could still show its host as discovered cannot be read."""
    placed = world.placed.get(host_of(key.url))
    unread = [name for name in world.listings if not world.counts(name)]
    if not unread or (placed is not None and placed.once_intended):
        return ""
    return f"kept until the {listed(unread)} listing is read: the box may run without being in fleet.hosts"


def _silent(world: World, joined: Joined) -> bool:
    """Whether the key's address answers no more: unreached, and no answer for T clocks. Not knowing is not silence;
    a host with nothing to dial is given up when it is unlisted."""
    if joined.dial.url is None:
        host = world.hosts.get(joined.host)
        return host is not None and host.unlisted
    if not joined.read or joined.probe.state != "unreached":
        return False
    heard = world.probes[joined.key.url].last_answered_at
    return heard is None or world.now - heard > world.stale_after(world.sources["vllm"].interval_s)


def _same_place(row: Deployment, joined: Joined) -> bool:
    return same_address(row.llmao_key, joined.key.url) or same_address(row.api_base, joined.dial.url)


def _span_s(world: World) -> float:
    return (world.settings.orphan_passes - 1) * world.sources["deployments"].interval_s


def _too_many(world: World, due: list[Orphan]) -> str:
    """The alarm when more than half of at least two rows would go, over ten minutes; "" otherwise."""
    present = {row.id for row in world.deployments if is_ours(row)}
    gone = {
        each.deployment_id
        for each in world.attempts.values()
        if each.kind == "prune_orphan" and each.answer == "ok" and world.now - each.sent_at < WINDOW_S
    }
    going, all_of_ours = {each.row.id for each in due} | gone, present | gone
    if len(all_of_ours) < 2 or 2 * len(going) <= len(all_of_ours):
        return ""
    return f"config drops {len(going)} of {count(len(all_of_ours), 'deployment')}"


def _prune(world: World, orphan: Orphan, alarm: str) -> Action:
    row = orphan.row
    before = bodies.shown(row)
    readings = count(orphan.memory.orphan.n if orphan.memory.orphan else 0, "reading")
    reason = f"no key has claimed this row of ours for {readings}"
    action = Action(
        kind="prune_orphan",
        key=orphan.key,
        name=orphan.name,
        deployment_id=row.id,
        reason=f"{reason}; {alarm}" if alarm else reason,
        policy="needs_human" if alarm else world.settings.permission("prune_orphan"),
        status="ready",
        digest=guards.digest("prune_orphan", orphan.key, row.id, before, None),
        before=before,
        cause="orphan",
        rule="R48" if alarm else "R16",
    )
    return guards.with_status(world, action, world.attempts.get(row.id))
