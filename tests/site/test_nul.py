"""A NUL in an address, which PostgreSQL takes for an error, is a bad request and nothing more."""

import pytest
from django.test import Client

from fleet.models import SourceState

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("post", "/models/approve/%00"),
        ("post", "/models/withdraw/%00"),
        ("get", "/admin/fleet/host/?labels__label=%00"),
        ("get", "/admin/fleet/actionlog/?kind=%00"),
        ("get", "/admin/fleet/sourcestate/_00/change/"),
        ("get", "/admin/fleet/lease/a%00/change/"),
        ("get", "/vllm/config%00"),
        ("get", "/models?page=%00"),
    ],
)
def test_it_refuses_a_nul_in_an_address(admin_client: Client, method: str, address: str) -> None:
    answer = getattr(admin_client, method)(address)
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/plain")
    assert b"take it out" in answer.content


def test_it_refuses_a_nul_in_a_cookie(client: Client) -> None:
    assert client.get("/models", headers={"Cookie": r'sessionid="\000aaaaaaaaaaaa"'}).status_code == 400


@pytest.mark.parametrize("address", ["/models?page=%2500", "/admin/fleet/actionlog/?q=_00"])
def test_it_lets_what_only_looks_like_one_through(admin_client: Client, address: str) -> None:
    assert admin_client.get(address).status_code == 200


def test_it_shows_a_row_whose_key_the_admin_has_to_quote(admin_client: Client) -> None:
    SourceState.objects.create(name="a_00/b")
    assert admin_client.get("/admin/fleet/sourcestate/a_5F00_2Fb/change/").status_code == 200
