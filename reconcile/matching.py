"""Which LiteLLM row belongs to which key: by id, then by stamp and name. Ours = our stamp, or an id of our form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reconcile.identity import Key, address_url, deployment_id, has_our_form, identifiers, provider_url
from reconcile.inputs import Deployment


def is_ours(row: Deployment) -> bool:
    """A config-file row is never ours, whatever it says of itself: it cannot be written."""
    return row.db_model and (row.llmao_key is not None or has_our_form(row.id))


@dataclass(frozen=True, slots=True)
class Rows:
    """The listed rows by what a key can claim them with."""

    by_id: dict[str, Deployment]
    by_stamp: dict[Key, tuple[Deployment, ...]]
    by_address: dict[Key, tuple[Deployment, ...]]  # rows that are not ours, by normal api_base and name
    owner: dict[str, Key]  # the ids that current keys have, listed or not

    def of(self, key: Key) -> tuple[Deployment, ...]:
        """Our rows of the key, lowest id first. An id beats a stamp: a stamp may have been edited."""
        found = {row.id: row for row in self.by_stamp.get(key, ()) if self.owner.get(row.id, key) == key}
        for identifier in identifiers(key):
            if identifier in self.by_id:
                found[identifier] = self.by_id[identifier]
        return tuple(found[each] for each in sorted(found))

    def foreign(self, key: Key, urls: Iterable[str | None]) -> tuple[Deployment, ...]:
        """Rows that are not ours with the key's name, at one of these addresses."""
        if not self.by_address:
            return ()
        places = sorted({provider_url(url) for url in urls if url})
        return tuple(row for place in places for row in self.by_address.get(Key(place, key.model), ()))


def indexed(deployments: tuple[Deployment, ...], keys: Iterable[Key]) -> Rows:
    ours = [row for row in deployments if is_ours(row)]
    stamps: dict[Key, list[Deployment]] = {}
    addresses: dict[Key, list[Deployment]] = {}
    for row in ours:
        if row.llmao_key is not None:
            stamps.setdefault(Key(row.llmao_key, row.name), []).append(row)
    for row in deployments:
        if not is_ours(row) and row.api_base:
            addresses.setdefault(Key(provider_url(row.api_base), row.name), []).append(row)
    return Rows(
        {row.id: row for row in ours},
        {key: tuple(rows) for key, rows in stamps.items()},
        {key: tuple(rows) for key, rows in addresses.items()},
        {identifier: key for key in keys for identifier in identifiers(key)},
    )


def the_row(key: Key, rows: tuple[Deployment, ...], body_print: str | None) -> Deployment | None:
    """The key's own among several rows of ours: with the wanted body, else under the first id, else the lowest."""
    if not rows:
        return None
    first = deployment_id(key)
    return min(rows, key=lambda row: (body_print is None or row.llmao_body != body_print, row.id != first, row.id))


def box_urls(host: str, listen_port: int, dialable: str | None) -> tuple[str | None, ...]:
    """The addresses by which a row that is not ours can be a box's: listen or public port."""
    return address_url(host, listen_port), dialable
