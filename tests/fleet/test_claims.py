"""From where a request came: a proxy is believed only when it is trusted, and only about its own peer."""

import ipaddress

import pytest
from django.test import RequestFactory

from fleet.claims import Unclear, asker, client_address

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8:aaaa::/48")]


@pytest.mark.parametrize(
    ("remote", "forwarded", "address"),
    [
        ("203.0.113.9", "", "203.0.113.9"),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # nobody we trust said it
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "192.0.2.66, 198.51.100.1", "198.51.100.1"),  # the left one is the sender's own word
        ("10.0.0.1", "192.0.2.66,198.51.100.1 , 10.0.0.2,10.9.9.9", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "garbage, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", " , ,198.51.100.1, ", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1:40001", "198.51.100.1"),
        ("10.0.0.1", "[2001:db8::1]:40001", "2001:db8::1"),
        ("10.0.0.1", "2001:DB8::1", "2001:db8::1"),
        ("10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("::ffff:203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("2001:db8:aaaa::1", "198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),  # a socket file
    ],
)
def test_it_walks_from_the_right(remote: str, forwarded: str, address: str) -> None:
    assert client_address(remote, forwarded, PROXIES) == address


def test_it_believes_nobody_without_trusted_proxies() -> None:
    assert client_address("10.0.0.1", "198.51.100.1", []) == "10.0.0.1"


@pytest.mark.parametrize("forwarded", ["unknown", "198.51.100.1, for=x", "198.51.100.1, [", "198.51.100.1, 1.2.3"])
def test_it_refuses_what_a_trusted_proxy_cannot_have_said(forwarded: str) -> None:
    with pytest.raises(Unclear, match="X-Forwarded-For holds no IP address"):
        client_address("10.0.0.1", forwarded, PROXIES)


@pytest.mark.parametrize(
    ("claimed", "host", "claims"),
    [(None, "203.0.113.9", False), ("", "203.0.113.9", False), ("203.0.113.9", "203.0.113.9", False),
     ("198.51.100.1", "198.51.100.1", True)],
)  # fmt: skip
def test_it_takes_the_claim_before_the_address(claimed: str | None, host: str, claims: bool) -> None:
    headers = {} if claimed is None else {"X-LLMAO-Host": claimed}
    found = asker(RequestFactory().get("/", REMOTE_ADDR="203.0.113.9", headers=headers), [])
    assert (found.host, found.peer, found.claims) == (host, "203.0.113.9", claims)


@pytest.mark.parametrize("zone", ["eth0", "a" * 300, "\x00"])
def test_it_refuses_a_zone_of_an_address(zone: str) -> None:
    """Longer than the column of an address, or with a NUL in it, it was an error of the database."""
    claimed = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9", headers={"X-LLMAO-Host": f"2001:db8::1%{zone}"})
    with pytest.raises(Unclear, match="X-LLMAO-Host holds an address with a zone: leave out the %"):
        asker(claimed, [])
    with pytest.raises(Unclear, match="X-Forwarded-For holds an address with a zone"):
        client_address("10.0.0.1", f"fe80::1%{zone}", PROXIES)


def test_it_needs_a_claim_behind_a_socket_file() -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="")
    with pytest.raises(Unclear, match="send it in X-LLMAO-Host"):
        asker(request, [])
    request = RequestFactory().get("/", REMOTE_ADDR="", headers={"X-LLMAO-Host": "203.0.113.10"})
    assert asker(request, []).host == "203.0.113.10"
