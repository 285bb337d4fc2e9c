"""Which URL reaches a server now (decision-table A). An omission in a listing never erases a last-known address."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reconcile.history import KeyMemory
from reconcile.identity import address_url, host_of, same_address
from reconcile.inputs import Deployment, Server
from reconcile.inventory import Place
from reconcile.words import provider
from reconcile.world import World

REMEMBERED_S = 24 * 3600  # a placed host's last-known address is tried this long after its last sign of life


@dataclass(frozen=True, slots=True)
class Dialable:
    """`url` is None when the key is unplaced; `note` is what an admin should know about the choice."""

    url: str | None
    step: str
    note: str = ""


def choose(world: World, server: Server, place: Place, memory: KeyMemory, row: Deployment | None) -> Dialable:
    """The first of A1–A5 that exists."""
    host = server.host
    if server.pinned_port is not None:
        return Dialable(address_url(host, server.pinned_port), "pinned", _disagreement(server.pinned_port, place))
    if place.public_port is not None:
        return Dialable(address_url(host, place.public_port), "listing")
    known = _last_known(world, server, place, memory, row)
    if known:
        return replace(known, note=_unmapped(place))
    if place.shown.state == "never":
        return Dialable(address_url(host, server.listen_port), "canonical")
    return Dialable(None, "", _unplaced(world, place))


def _disagreement(pinned: int, place: Place) -> str:
    if place.public_port in (None, pinned):
        return ""
    return f"pinned to port {pinned}, while the {provider(place.shown.provider)} listing says {place.public_port}"


def _last_known(
    world: World, server: Server, place: Place, memory: KeyMemory, row: Deployment | None
) -> Dialable | None:
    placed = world.placed.get(server.host)
    listed_now = place.shown.state == "listed"
    if placed and placed.provider and not listed_now and not _heard_of(world, placed.listed_at, memory.last_ok):
        return None
    if memory.last_url:
        return Dialable(memory.last_url, "last_known")
    url = row.asf_api_base if row else None
    if not url or not row or not same_address(url, row.api_base) or host_of(url) != server.host:
        return None
    if row.llmao_instance and place.instance and row.llmao_instance != place.instance:
        return None
    return Dialable(url, "row")


def _heard_of(world: World, listed_at: float, last_ok: float | None) -> bool:
    return world.now - max(listed_at, last_ok or 0.0) < REMEMBERED_S


def _unmapped(place: Place) -> str:
    """Why a listing that has the host gives no mapping; "" where it says nothing of the host."""
    if place.rivals:
        return f"instances {' and '.join(place.rivals)} both map this port on one IP, and neither is known to be ours"
    shown = place.shown
    if shown.state == "listed":
        status = shown.status or "without a status"
        return f"the {provider(shown.provider)} listing has it {status}, with no mapping of this port"
    return ""


def _unplaced(world: World, place: Place) -> str:
    shown = place.shown
    if unmapped := _unmapped(place):
        return unmapped
    if shown.state == "unread":
        waiting = [provider(name) for name in world.listings if not world.counts(name)]
        return f"no current {' or '.join(waiting) or provider(shown.provider)} listing, pin or last-known address"
    return f"not in the {provider(shown.provider)} listing, and no pin or last-known address"
