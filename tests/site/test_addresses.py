"""A page is closed to strangers unless it is on this short list."""

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

OPEN = {"healthz", "readyz", "metrics", "vllm/config", "accounts/login/"}


def addresses() -> list[str]:
    """Every address without a parameter, outside the admin."""
    found = []
    for each in get_resolver().url_patterns:
        inner = each.url_patterns if isinstance(each, URLResolver) else [each]
        prefix = str(each.pattern) if isinstance(each, URLResolver) else ""
        found += [prefix + str(one.pattern) for one in inner if isinstance(one, URLPattern)]
    return [address for address in found if "<" not in address and "admin/" not in address]


def test_it_finds_the_addresses() -> None:
    assert OPEN - {"vllm/config"} < set(addresses())


@pytest.mark.parametrize("address", sorted(set(addresses()) - OPEN))
def test_it_asks_strangers_to_sign_in(client: Client, address: str) -> None:
    answer = client.get(f"/{address}")
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/?next=/")


@pytest.mark.django_db
def test_it_asks_strangers_to_sign_in_to_the_admin(client: Client) -> None:
    answer = client.get("/admin/fleet/")
    assert answer.status_code == 302
    assert "/login/" in answer["Location"]


def test_it_leads_to_the_models_page(admin_client: Client) -> None:
    answer = admin_client.get("/")
    assert (answer.status_code, answer["Location"]) == (302, "/models")


def test_it_refuses_a_host_name_that_is_not_its_own(client: Client) -> None:
    assert client.get("/models", headers={"host": "evil.example.org"}).status_code == 400


def test_it_cannot_be_framed_or_sniffed(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")
