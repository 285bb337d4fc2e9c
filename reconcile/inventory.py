"""What the provider listings say of one host and listen port now."""

from __future__ import annotations

from dataclasses import dataclass

from reconcile.inputs import Instance
from reconcile.view import InventoryView
from reconcile.world import World

COMING_BACK = frozenset(("rebooting", "recycling", "loading", "created", "scheduling", "provisioning", "starting"))


@dataclass(frozen=True, slots=True)
class Place:
    """`shown` for the record; `instance` is "provider:id" when one instance is known to hold the port; `public_port`
    the mapping in force; `rivals` the ids of running instances that map the same listen port on this IP."""

    shown: InventoryView
    instance: str = ""
    public_port: int | None = None
    rivals: tuple[str, ...] = ()


def look_up(world: World, host: str, listen_port: int, known: str | None) -> Place:
    """The host in the listings that count. `known` is the instance remembered for the key: it wins on a shared IP
    where two instances map one listen port; without it such a mapping is no mapping (R56)."""
    for provider in _in_order(world, host):
        instances = world.listings[provider].get(host, ())
        if instances:
            return _listed(world, provider, instances, listen_port, known)
    return Place(_absent(world, host))


def _in_order(world: World, host: str) -> list[str]:
    """The provider that placed the host first; then by name."""
    placed = world.placed.get(host)
    first = placed.provider if placed else ""
    return sorted((name for name in world.listings if world.counts(name)), key=lambda name: (name != first, name))


def _listed(world: World, provider: str, instances: tuple[Instance, ...], port: int, known: str | None) -> Place:
    mapping = [each for each in instances if each.running and port in each.ports]
    own = next((each for each in instances if f"{provider}:{each.id}" == known), None)
    if len(mapping) > 1 and not (own and _stays(own, port)):
        shown = _shown(world, provider, own or mapping[0])
        return Place(shown, rivals=tuple(each.id for each in mapping))
    chosen = own if own and _stays(own, port) else mapping[0] if mapping else own or _only(instances)
    if chosen is None:
        return Place(_shown(world, provider, instances[0]))
    public = chosen.ports.get(port) if chosen.running else None
    return Place(_shown(world, provider, chosen), f"{provider}:{chosen.id}", public)


def _stays(own: Instance, port: int) -> bool:
    """Whether the key's instance is still the one: it maps the port, or it is only restarting. A neighbour on the
    same IP does not inherit the key of a box that reboots."""
    return (own.running and port in own.ports) or own.status.lower() in COMING_BACK


def _only(instances: tuple[Instance, ...]) -> Instance | None:
    return instances[0] if len(instances) == 1 else None


def _shown(world: World, provider: str, instance: Instance) -> InventoryView:
    return InventoryView(
        state="listed",
        provider=provider,
        instance=instance.id,
        status=instance.status,
        label=instance.label,
        gpu=instance.gpu,
        price_usd_h=instance.price_usd_h,
        read_at=world.sources[provider].taken_at,
    )


def _absent(world: World, host: str) -> InventoryView:
    placed = world.placed.get(host)
    if placed and placed.provider:
        source = world.sources.get(placed.provider)
        read = source is not None and world.counts(placed.provider)
        return InventoryView(
            state="omitted" if read else "unread",
            provider=placed.provider,
            instance=placed.instance,
            read_at=source.taken_at if source else None,
        )
    return InventoryView(state="never" if world.providers_all_read() else "unread")
