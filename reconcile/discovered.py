"""Servers on running inventory hosts that nobody intended and that serve a model of models.yaml (decision-table F).

They are computed in each pass and never stored: an ordinary record while the instance is listed and serves, or served
in this history, or has a row of ours; and as long as its listing cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.identity import Key, address_url, box_name, host_of, port_of
from reconcile.inputs import Instance, Model, Server
from reconcile.matching import is_ours
from reconcile.probe import judge, served_name, served_row
from reconcile.world import World


def servers(world: World) -> tuple[Server, ...]:
    """The discovered servers, by host and port. One listen port has one model."""
    taken = {server.host for server in world.intended.servers}
    taken |= {label.host for label in world.intended.labels if label.label == "retired"}
    known = _known_models(world)
    found = {key.url: key.model for key in _unreadable(world, taken)}
    for host, port, url in _mapped(world, taken):
        base = address_url(host, port)
        model = known.get(base) or _serving(world, base, url)
        if model:
            found[base] = model
    return tuple(_server(world, base, found[base]) for base in sorted(found))


def _server(world: World, base: str, model: str) -> Server:
    key_hash = world.intended.discovered_key_hashes.get(box_name(base), "")
    return Server(host=host_of(base), listen_port=port_of(base), model=model, origin="discovered", key_hash=key_hash)


def _mapped(world: World, taken: set[str]) -> Iterator[tuple[str, int, str]]:
    """(host, listen port, URL) of what running instances map, on hosts that nobody ever intended."""
    for provider in world.listings:
        for host, instances in sorted(world.listings[provider].items()):
            if host not in taken and not _once_intended(world, provider, host, instances):
                for instance in instances:
                    for listen, public in sorted(instance.ports.items()) if instance.running else ():
                        yield host, listen, address_url(host, public)


def _once_intended(world: World, provider: str, host: str, instances: tuple[Instance, ...]) -> bool:
    """Whether the host was intended before, with an instance that is still listed: its rows are pruned, not found
    anew."""
    placed = world.placed.get(host)
    if placed is None or not placed.once_intended or placed.provider != provider:
        return False
    return any(each.id == placed.instance for each in instances)


def _known_models(world: World) -> dict[str, str]:
    """Base -> the model it was discovered with in this history, else the one of our row there."""
    rows = {row.llmao_key: row.name for row in world.deployments if is_ours(row) and row.llmao_key}
    remembered = {key.url: key.model for key, memory in world.keys.items() if memory.discovered}
    return {base: name for base, name in {**rows, **remembered}.items() if name in world.models}


def _serving(world: World, base: str, url: str) -> str:
    """The model of models.yaml that a probe of this URL found there, by its served name before other ids."""
    probe, key_hash = world.probes.get(base), world.intended.discovered_key_hashes.get(box_name(base))
    if probe is None or probe.url != url or key_hash is None or probe.key_hash not in ("", key_hash):
        return ""
    if world.now - probe.at > world.stale_after(world.sources["vllm"].interval_s):
        return ""
    listed = {row.id for row in probe.listed}

    def preference(model: Model) -> tuple[bool, str]:
        return served_name(model) not in listed, model.name

    good = [
        model
        for model in world.models.values()
        if served_row(probe, model) and judge(probe, model, open_allowed=False).state == "ok"
    ]
    return min(good, key=preference).name if good else ""


def _unreadable(world: World, taken: set[str]) -> Iterator[Key]:
    """What was discovered in this history and whose listing cannot be read now: it stands."""
    for key, memory in world.keys.items():
        if memory.discovered and host_of(key.url) not in taken and key.model in world.models:
            provider = (memory.instance or "").partition(":")[0]
            if provider in world.listings and not world.counts(provider):
                yield key
