"""Which addresses may be dialled: unicast ones when an admin wrote them, public ones when somebody else named them."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator

from reconcile.identity import canonical_host

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds hand credentials to whoever asks from inside. Link-local ones are refused as such.
METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")
)
METADATA_NAMES = ("metadata", "metadata.google.internal", "metadata.goog", "instance-data")
# Not "global" to the ipaddress module, yet nobody's own network: documents and simulated listings use them.
DOCUMENTATION = tuple(
    ipaddress.ip_network(text)
    for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")
)
_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
_COMPATIBLE = ipaddress.ip_network("::/96")
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


def refused_because(host: str) -> str:
    """Why a host may never be dialled, as the end of a sentence ("is a …"); "" when it may.

    `host` is an IP address; IPv6 forms that carry an IPv4 address are judged by that one too.
    """
    return next(filter(None, map(_refused, _with_embedded(ipaddress.ip_address(host)))), "")


def is_loopback(host: str) -> bool:
    return any(address.is_loopback for address in _with_embedded(ipaddress.ip_address(host)))


def is_public_host(host: str) -> bool:
    """Whether anybody on the internet could mean this address by it; the documentation ranges count as public."""
    addresses = list(_with_embedded(ipaddress.ip_address(host)))
    return not refused_because(host) and all(map(_public, addresses))


def url_host_refused_because(host: str) -> str:
    """Like `refused_because`, for the host of a URL, which may be a name. Names are not resolved here."""
    if host.rstrip(".").lower() in METADATA_NAMES:
        return "is a cloud's metadata service"
    try:
        return refused_because(canonical_host(host))
    except ValueError:
        return "is an IP address in disguise: write it like 203.0.113.10" if _is_disguised(host) else ""


def _refused(address: Address) -> str:
    if address in METADATA or address == ipaddress.ip_address("169.254.169.254"):
        return "is a cloud's metadata service"
    if address.is_unspecified or (address.version == 4 and address in _THIS_NETWORK):
        return "is an unspecified address"
    if address.is_multicast:
        return "is a multicast address"
    if address.is_link_local:
        return "is a link-local address"
    if address.version == 6 and "%" in str(address):
        return "has a zone (what follows %)"
    if address.version == 4 and address.is_reserved:
        return "is a reserved address"
    return ""


def _public(address: Address) -> bool:
    return address.is_global or any(address in network for network in (*DOCUMENTATION, *_NAT64))


def _with_embedded(address: Address) -> Iterator[Address]:
    yield address
    if not isinstance(address, ipaddress.IPv6Address):
        return
    inside = address.ipv4_mapped or address.sixtofour
    if inside is None and (any(address in network for network in _NAT64) or _is_compatible(address)):
        inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inside is not None:
        yield inside


def _is_compatible(address: ipaddress.IPv6Address) -> bool:
    return address in _COMPATIBLE and int(address) > 1  # :: and ::1 carry no IPv4 address


def _is_disguised(host: str) -> bool:
    """Whether a resolver would read the text as an IPv4 address although it is not in the usual form."""
    if not re.fullmatch(r"[0-9a-fxA-FX.]+", host):
        return False
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True
