"""Who is who: canonical addresses, keys, and the ids that LiteLLM rows get.

These bytes are frozen: LiteLLM keeps them for the life of a deployment, so a change here orphans every row ever
written (`tests/reconcile/identity.json` holds them).
"""

from __future__ import annotations

import hashlib
import ipaddress
import uuid
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

ID_PREFIX = "llmao-"
REMEMBERED = 1 << 18  # answers of functions of text that every pass asks again, for 100,000 keys


class Key(msgspec.Struct, frozen=True, order=True):
    """(canonical URL, public model name): names one deployment in history, plan, pages and logs."""

    url: str
    model: str


def canonical_host(text: str) -> str:
    """An IP address in its one spelling: lower case, `::ffff:` stripped, no brackets.

    Raises ValueError with a sentence when `text` is no IP address.
    """
    stripped = text.strip().strip("[]")
    try:
        address = ipaddress.ip_address(stripped)
    except ValueError:
        raise ValueError(f"{text.strip()!r} is not an IP address: write it like 203.0.113.10") from None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def address_url(host: str, port: int) -> str:
    """`http://host:port`, IPv6 in brackets. `host` is canonical."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@lru_cache(maxsize=REMEMBERED)
def provider_url(base: str) -> str:
    """A commercial base in normal form: scheme and host lower case, no trailing `/`, one trailing `/v1` stripped.

    What is no URL (LiteLLM's rows may hold anything) is only itself.
    """
    parts = _split(base.strip())
    path = parts.path.rstrip("/")
    path = path.removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme.lower(), _lower_netloc(parts.netloc), path, parts.query, ""))


def _split(url: str) -> SplitResult:
    """The parts of a URL; text that is none is all path."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def _lower_netloc(netloc: str) -> str:
    userinfo, at, address = netloc.rpartition("@")
    address = address.lower()
    host = address.removeprefix("[::ffff:").split("]")
    if len(host) == 2 and "." in host[0] and address.startswith("[::ffff:"):
        address = host[0] + host[1]
    return f"{userinfo}{at}{address}"


def same_address(one: str | None, other: str | None) -> bool:
    """Whether two api_base values mean one place: compared in normal form, so `/v1` and a slash do not count."""
    if not one or not other:
        return False
    return one == other or provider_url(one) == provider_url(other)


@lru_cache(maxsize=REMEMBERED)
def host_of(url: str) -> str:
    """The host of a canonical or dialable URL, without brackets; "" when there is none."""
    return _split(url).hostname or ""


@lru_cache(maxsize=REMEMBERED)
def port_of(url: str) -> int:
    """The port of a canonical URL of a box; 0 when there is none."""
    return _split(url).port or 0


def deployment_id(key: Key, *, second: bool = False) -> str:
    """The id of the key's LiteLLM row; `second` is the one that a replace alternates with."""
    return identifiers(key)[second]


@lru_cache(maxsize=REMEMBERED)
def identifiers(key: Key) -> tuple[str, str]:
    """The two ids that a key's row can have: UUID5 of its URL and name, and of the same with a 2 behind."""
    name = f"{key.url}\n{key.model}"
    return _uuid5(name), _uuid5(f"{name}\n2")


def _uuid5(name: str) -> str:
    """`uuid.uuid5(NAMESPACE_URL, name)` as an id, without the object that makes up most of its cost."""
    digest = hashlib.sha1(uuid.NAMESPACE_URL.bytes + name.encode(), usedforsecurity=False).digest()
    number = int.from_bytes(digest[:16], "big") & ~(0xF000 << 64) & ~(0xC000 << 48) | (5 << 76) | (0x8000 << 48)
    text = f"{number:032x}"
    return f"{ID_PREFIX}{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def has_our_form(identifier: str) -> bool:
    """Whether a deployment id looks like one of ours."""
    if not identifier.startswith(ID_PREFIX):
        return False
    try:
        return uuid.UUID(identifier.removeprefix(ID_PREFIX)).version == 5
    except ValueError:
        return False


@lru_cache(maxsize=REMEMBERED)
def box_name(url: str) -> str:
    """`host:port` of a URL, without a password in it. Never a URL: a URL on a page gets pasted."""
    return _split(url).netloc.rpartition("@")[2]
