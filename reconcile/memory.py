"""How one pass's readings change what is remembered of a key, a host and a row.

Every reading is counted once, by its own time: the same snapshot seen by many passes changes nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from reconcile.history import HostMemory, KeyMemory, PlacedHost, RowMemory
from reconcile.identity import Key
from reconcile.inputs import Attempt, Deployment, Opinion
from reconcile.inventory import Place
from reconcile.runs import grown, long_enough
from reconcile.view import ProbeView
from reconcile.world import World

REMOVAL_WINDOW_S = 3600  # removals for health younger than this lengthen the way back


def recalled(world: World, key: Key) -> KeyMemory:
    return world.keys.get(key) or KeyMemory(key=key, since=world.began_at)


def of_instance(world: World, memory: KeyMemory, place: Place) -> KeyMemory:
    """The memory of the key's present instance: another instance id under the same key starts it afresh (R23)."""
    if not place.instance or place.instance == memory.instance:
        return memory
    if memory.instance is None:
        return replace(memory, instance=place.instance)
    changed_at = place.shown.read_at or world.now
    return KeyMemory(key=memory.key, since=changed_at, changed_at=changed_at, instance=place.instance)


def of_url(memory: KeyMemory, url: str | None) -> KeyMemory:
    """A new dialable URL ends both runs: what was read of the old one says nothing about it."""
    if url is None or url == memory.last_url:
        return memory
    if memory.last_url is None:
        return replace(memory, last_url=url)
    return replace(
        memory, last_url=url, misses=None, hits=None, delete_wanted_since=None, first_asked=None, last_up=None
    )


def counted(world: World, memory: KeyMemory, probe: ProbeView) -> KeyMemory:
    """The memory after this probe, which is fresh and of today's URL. A reading already counted counts no more."""
    if probe.at is None or (memory.probed_at is not None and probe.at <= memory.probed_at):
        return memory
    if probe.state == "ok":
        return replace(
            memory,
            probed_at=probe.at,
            last_ok=probe.at,
            hits=grown(memory.hits, probe.at),
            misses=None,
            delete_wanted_since=None,
            first_asked=None,
            last_up=None,
        )
    misses = grown(memory.misses, probe.at)
    threshold, interval = world.settings.health_fail_threshold, world.sources["vllm"].interval_s
    wanted = memory.delete_wanted_since
    if wanted is None and long_enough(misses, threshold, interval):
        wanted = probe.at
    return replace(memory, probed_at=probe.at, misses=misses, hits=None, delete_wanted_since=wanted)


def asked(memory: KeyMemory, opinion: Opinion | None) -> KeyMemory:
    """The memory after LiteLLM's newest opinion, when it was asked within the present run of misses."""
    if opinion is None or memory.misses is None or opinion.asked_at < memory.misses.first:
        return memory
    first = memory.first_asked if memory.first_asked is not None else opinion.asked_at
    last_up = opinion.asked_at if opinion.state == "up" else memory.last_up
    return replace(memory, first_asked=first, last_up=last_up)


def removed(world: World, memory: KeyMemory, attempt: Attempt | None) -> KeyMemory:
    """The memory after a removal for health that LiteLLM has answered: the runs begin anew, the way back is longer.

    Removals older than an hour no longer lengthen it; the newest one is kept, so that the way back stays one."""
    recent = tuple(at for at in memory.removals if world.now - at < REMOVAL_WINDOW_S)
    answered = attempt.answered_at if attempt and attempt.cause == "health" and attempt.answer == "ok" else None
    if answered is not None and answered > max(memory.removals, default=0.0):
        hits = memory.hits if memory.hits and memory.hits.first > answered else None
        return replace(memory, removals=(*recent, answered), hits=hits)
    return replace(memory, removals=recent or memory.removals[-1:])


def of_host(world: World, host: str) -> HostMemory | None:
    """The run of absences from the listing that placed the host; None for a host that no listing placed."""
    placed = world.placed.get(host)
    if not placed or not placed.provider:
        return None
    memory = world.hosts.get(host) or HostMemory(host=host, read_at=0.0)
    provider = placed.provider
    if provider not in world.listings or not world.counts(provider):
        return memory
    read_at = world.taken_at(provider)
    if read_at <= memory.read_at:
        return memory
    if host in world.listings[provider]:
        return HostMemory(host=host, read_at=read_at)
    absences = grown(memory.absences, read_at)
    interval = world.sources[provider].interval_s
    unlisted = memory.unlisted or long_enough(absences, world.settings.unlisted_passes, interval)
    return HostMemory(host=host, read_at=read_at, absences=absences, unlisted=unlisted)


def marked(memory: KeyMemory, *, drained: bool, discovered: bool, row: Deployment | None) -> KeyMemory:
    """The memory with how the key came here, and whether it was drained: that stays until its row is unblocked."""
    ours_to_undo = drained or (memory.drained and row is not None and row.blocked)
    if memory.discovered == discovered and memory.drained == ours_to_undo:
        return memory
    return replace(memory, discovered=discovered, drained=ours_to_undo)


def placing(world: World, hosts: dict[str, tuple[list[Place], bool]]) -> tuple[PlacedHost, ...]:
    """Who placed each host that still has a key (`hosts`: its places, and whether a person wants it). What a complete
    listing no longer has, and no key names, is forgotten; the mark "once intended" stays until then."""
    kept = {host: _placed(world, host, places, intended) for host, (places, intended) in hosts.items()}
    for host, place in world.placed.items():
        if host not in kept and _still_marked(world, place):
            kept[host] = place
    return tuple(sorted((place for place in kept.values() if place), key=lambda place: place.host))


def _placed(world: World, host: str, places: list[Place], intended: bool) -> PlacedHost | None:
    before = world.placed.get(host)
    once_intended = intended or (before is not None and before.once_intended)
    for place in places:
        shown = place.shown
        if shown.state == "listed" and shown.read_at is not None:
            listed_at = max(shown.read_at, before.listed_at if before else 0.0)
            return PlacedHost(host, shown.provider, shown.instance, listed_at, once_intended=once_intended)
    return before


def _still_marked(world: World, place: PlacedHost) -> bool:
    provider = place.provider
    if provider not in world.listings or not world.counts(provider):
        return place.once_intended
    instances = world.listings[provider].get(place.host, ())
    return place.once_intended and any(each.id == place.instance for each in instances)


def _seen(world: World, memory: RowMemory, row: Deployment) -> RowMemory:
    """Two snapshots within settle_s of a write that show the row differently come from replicas that disagree."""
    read_at = world.taken_at("deployments")
    if memory.seen_at is not None and read_at <= memory.seen_at:
        return memory
    fields = (row.name, row.model, row.api_base, row.llmao_key, row.llmao_body, row.blocked)
    shown = "\n".join(map(str, fields))
    attempt = world.attempts.get(row.id)
    written = attempt.answered_at if attempt and attempt.answer == "ok" else None
    both_after = written is not None and memory.seen_at is not None and memory.seen_at >= written
    if both_after and written is not None and read_at - written < world.settings.settle_s and memory.seen != shown:
        return replace(memory, seen=shown, seen_at=read_at, disagreed_at=read_at)
    return replace(memory, seen=shown, seen_at=read_at)


def of_row(world: World, row: Deployment, key: Key | None, opinion: Opinion | None) -> RowMemory:
    """A row that the deployments source lists now; `opinion` is LiteLLM's, when it is younger than our last write."""
    memory = _seen(world, world.rows.get(row.id) or RowMemory(id=row.id, last_listed=0.0), row)
    memory = replace(memory, last_listed=max(memory.last_listed, world.taken_at("deployments")), key=key)
    if opinion is None or opinion.state == "unknown" or opinion.asked_at <= (memory.opinion_at or 0.0):
        return memory
    if opinion.state == "up":
        return replace(memory, downs=0, down_first_asked=None, opinion_at=opinion.asked_at)
    first = memory.down_first_asked if memory.downs else opinion.asked_at
    return replace(memory, downs=memory.downs + 1, down_first_asked=first, opinion_at=opinion.asked_at)
