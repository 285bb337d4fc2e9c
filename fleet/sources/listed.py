"""What a provider's listing says of an instance, made ours: the same for every provider."""

from __future__ import annotations

import logging
from typing import Any

from fleet.config import Config, allowed_host
from fleet.sources.once import first
from litellm_sync.parsing import text, whole
from reconcile.identity import canonical_host

log = logging.getLogger(__name__)


def host(settings: Config, provider: str, identifier: str, address: Any) -> str:
    """The public address of an instance in canonical form; "" while there is none, and for one that must not be
    dialled: whoever can put an address into a listing could otherwise make us send requests into our own network."""
    given = text(address)
    if given is None:
        return ""
    try:
        canonical = canonical_host(given)
    except ValueError:
        canonical = ""
    if canonical and allowed_host(settings, canonical):
        return canonical
    if first(provider, "address", identifier, given):
        log.warning("%s_address_refused instance=%s address=%r", provider, identifier, given)
    return ""


def port(value: Any) -> int | None:
    number = whole(value)
    return number if number is not None and 0 < number < 65536 else None


def gpu(name: Any, count: Any) -> str:
    """ "RTX 4090", "2× RTX 4090"; "" without a name."""
    model, number = text(name), whole(count)
    return f"{number}× {model}" if model and number and number > 1 else model or ""


def note_status(provider: str, status: str, known: frozenset[str]) -> None:
    """A status that we do not know is shown as it is, and logged once."""
    if status and status not in known and first(provider, "status", status):
        log.info("%s_unknown_status status=%r", provider, status)
