"""Which host a request speaks for, and from where it came."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest

from fleet.config.shape import Network
from reconcile.identity import canonical_host

HEADER = "X-LLMAO-Host"


class Unclear(Exception):
    """A request whose host cannot be told; `message` says what to send."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Asker:
    """`host` is whose configuration is asked for, `peer` where the request came from; both canonical. `peer` is ""
    when that is no address (a socket file)."""

    host: str
    peer: str

    @property
    def claims(self) -> bool:
        """Whether it speaks for another address than its own: boxes sit behind their provider's NAT."""
        return self.host != self.peer


def asker(request: HttpRequest, trusted: Iterable[Network]) -> Asker:
    """Raises Unclear."""
    peer = client_address(request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For", ""), trusted)
    claimed = request.headers.get(HEADER, "").strip()
    if not claimed and not peer:
        raise Unclear(f"This server cannot see the address of the box: send it in {HEADER}.")
    return Asker(host=_address(claimed, HEADER) if claimed else peer, peer=peer)


def client_address(remote: str, forwarded: str, trusted: Iterable[Network]) -> str:
    """The TCP peer, or, when that is a trusted proxy, the rightmost address in X-Forwarded-For that is none: whatever
    stands left of it was written by whoever sent the request. Raises Unclear."""
    networks = tuple(trusted)
    hops = [hop for hop in forwarded.split(",") if hop.strip()]
    try:
        address = canonical_host(remote)
    except ValueError:
        return ""
    while hops and _is_trusted(address, networks):
        address = _address(_without_port(hops.pop()), "X-Forwarded-For")
    return address


def _is_trusted(address: str, networks: tuple[Network, ...]) -> bool:
    return any(ipaddress.ip_address(address) in network for network in networks)


def _without_port(hop: str) -> str:
    """Some proxies write 203.0.113.10:40001 or [2001:db8::1]:40001."""
    hop = hop.strip()
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def _address(text: str, header: str) -> str:
    """A zone (fe80::1%eth0) is a name for a network of somebody else's machine, and may be of any length."""
    if "%" in text:
        raise Unclear(f"{header} holds an address with a zone: leave out the % and what follows it.")
    try:
        return canonical_host(text)
    except ValueError:
        raise Unclear(f"{header} holds no IP address: write it like 203.0.113.10.") from None
