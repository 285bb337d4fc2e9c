"""Identities are for the life of a deployment: the bytes in identity.json may gain lines, and none may change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconcile.identity import (
    Key,
    address_url,
    box_name,
    canonical_host,
    deployment_id,
    has_our_form,
    host_of,
    provider_url,
    same_address,
)

FROZEN: dict[str, Any] = json.loads((Path(__file__).parent / "identity.json").read_text())


@pytest.mark.parametrize(("written", "canonical"), FROZEN["hosts"])
def test_it_spells_a_host_in_one_way(written: str, canonical: str) -> None:
    assert canonical_host(written) == canonical
    assert canonical_host(canonical) == canonical


@pytest.mark.parametrize("written", FROZEN["not_hosts"])
def test_it_refuses_what_is_no_host(written: str) -> None:
    with pytest.raises(ValueError, match="is not an IP address: write it like 203.0.113.10"):
        canonical_host(written)


@pytest.mark.parametrize(("host", "port", "url"), FROZEN["boxes"])
def test_it_writes_a_boxs_canonical_url(host: str, port: int, url: str) -> None:
    assert address_url(host, port) == url


@pytest.mark.parametrize(("base", "normal"), FROZEN["providers"])
def test_it_brings_a_providers_base_to_its_normal_form(base: str, normal: str) -> None:
    assert provider_url(base) == normal


@pytest.mark.parametrize("frozen", FROZEN["ids"], ids=lambda frozen: frozen["url"] + " " + frozen["model"])
def test_it_gives_a_key_its_two_ids(frozen: dict[str, str]) -> None:
    key = Key(frozen["url"], frozen["model"])
    assert deployment_id(key) == frozen["id"]
    assert deployment_id(key, second=True) == frozen["second"]
    assert has_our_form(frozen["id"])
    assert has_our_form(frozen["second"])


@pytest.mark.parametrize("identifier", FROZEN["not_ours"])
def test_it_takes_no_other_id_for_ours(identifier: str) -> None:
    assert not has_our_form(identifier)


@pytest.mark.parametrize(("one", "other"), FROZEN["same_place"])
def test_it_compares_addresses_in_normal_form(one: str, other: str) -> None:
    assert same_address(one, other)
    assert same_address(other, one)


@pytest.mark.parametrize(("one", "other"), [*FROZEN["other_place"], (None, None), ("http://203.0.113.10:1", None)])
def test_it_tells_two_places_apart(one: str | None, other: str | None) -> None:
    assert not same_address(one, other)


@pytest.mark.parametrize(("url", "name", "host"), FROZEN["names"])
def test_it_names_a_url_without_being_one(url: str, name: str, host: str) -> None:
    assert box_name(url) == name
    assert host_of(url) == host
