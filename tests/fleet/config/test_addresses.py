"""Which addresses count as public, which are never dialled."""

from pathlib import Path

import pytest

from fleet.config import allowed_host, is_public_host, load
from fleet.config.addresses import refused_because, url_host_refused_because
from tests.fleet.config.files import CONFIG, with_fleet, write

PUBLIC = ["8.8.8.8", "203.0.113.10", "198.51.100.4", "192.0.2.1", "2001:db8::1", "2606:4700::1111", "64:ff9b::808:808"]
PRIVATE = ["10.0.0.1", "172.16.5.5", "192.168.1.1", "100.64.0.1", "198.18.0.1", "127.0.0.1", "::1", "fd00::1",
           "64:ff9b::a00:1", "2002:a00:1::1", "::a00:1"]  # fmt: skip
REFUSED = ["169.254.169.254", "169.254.1.1", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255",
           "240.0.0.1", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "::ffff:169.254.169.254",
           "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::a9fe:a9fe", "0.1.2.3"]  # fmt: skip


@pytest.mark.parametrize("host", PUBLIC)
def test_it_takes_public_and_documentation_addresses_for_public(host: str) -> None:
    assert is_public_host(host) and refused_because(host) == ""


@pytest.mark.parametrize("host", PRIVATE)
def test_it_takes_own_networks_for_private(host: str) -> None:
    assert not is_public_host(host) and refused_because(host) == ""


@pytest.mark.parametrize("host", REFUSED)
def test_it_refuses_what_is_nobodys_box(host: str) -> None:
    assert refused_because(host) and not is_public_host(host)


def test_it_allows_private_hosts_only_by_configuration(tmp_path: Path) -> None:
    strict, wide = load(write(tmp_path, CONFIG)), load(write(tmp_path, with_fleet("allow_private_hosts: true")))
    assert all(allowed_host(strict, host) and allowed_host(wide, host) for host in PUBLIC)
    assert not any(allowed_host(strict, host) for host in PRIVATE)
    assert all(allowed_host(wide, host) for host in PRIVATE)
    assert not any(allowed_host(strict, host) or allowed_host(wide, host) for host in REFUSED)


@pytest.mark.parametrize(
    "host",
    ["metadata.google.internal", "METADATA.google.internal.", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376",
     "169.254.43518", "127.1", "[::ffff:169.254.169.254]"],
)  # fmt: skip
def test_it_sees_through_other_spellings_in_urls(host: str) -> None:
    assert url_host_refused_because(host)


@pytest.mark.parametrize("host", ["api.example.com", "localhost", "127.0.0.1", "10.0.0.1", "face.b00c", "litellm"])
def test_it_leaves_names_alone_in_urls(host: str) -> None:
    assert url_host_refused_because(host) == ""
