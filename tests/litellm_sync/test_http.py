from __future__ import annotations

import asyncio
import time

import pytest

from litellm_sync.http import CAP, Answer, Kind, NoAnswer, Session, ask
from sim.garbage import Fault, garbage_server
from tests.litellm_sync.raw import answer, raw_server

TIMEOUT_S = 0.6
SECRETS = ("sk-made-up", "query-secret", "body-secret", "hidden-path")


def fails(url: str, *, timeout_s: float = TIMEOUT_S, cap: int = CAP, bound_s: float = 5.0) -> NoAnswer:
    """The failure of a POST that carries a secret wherever one can stand; it came within `bound_s`."""
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {SECRETS[0]}"}
    with pytest.raises(NoAnswer) as caught:
        ask(
            "POST", f"{url}/hidden-path?key=query-secret",
            timeout_s=timeout_s, headers=headers, json={"api_key": "body-secret"}, cap=cap,
        )  # fmt: skip
    assert time.monotonic() - began < bound_s
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.SILENT, "timeout"),
        (Fault.SLOW_HEADERS, "timeout"),
        (Fault.HUGE, "too_large"),
        (Fault.SLOW_BODY, "too_large"),  # it announces 10 MB
        (Fault.RESET, "reset"),
        (Fault.HANG_UP, "reset"),
        (Fault.CUT, "reset"),
        (Fault.NOT_HTTP, "not_http"),
    ],
)
def test_it_names_each_way_of_not_answering(fault: Fault, kind: Kind) -> None:
    with garbage_server(fault) as url:
        failure = fails(url)
    assert failure.kind == kind
    assert failure.message.startswith("127.0.0.1:")
    assert not [secret for secret in SECRETS if secret in failure.message]


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("http://127.0.0.1:1", "refused", "127.0.0.1:1 refuses the connection"),
        ("http://somebody:sk-made-up@127.0.0.1:1", "not_http", "127.0.0.1:1 does not answer in HTTP"),
        ("http://no-such-name.invalid", "unreachable", "no-such-name.invalid cannot be reached: its name is not known"),
        ("http://[::1", "unreachable", "the address cannot be reached"),
        ("ftp://127.0.0.1:1", "not_http", "127.0.0.1:1 does not answer in HTTP"),
    ],
)
def test_it_says_which_address_failed_and_nothing_more(url: str, kind: Kind, words: str) -> None:
    failure = fails(url, timeout_s=5, bound_s=20)
    assert failure.kind == kind
    assert failure.message.startswith(words)
    assert not [secret for secret in SECRETS if secret in failure.message]


def test_it_refuses_a_header_that_would_smuggle_another() -> None:
    with raw_server(answer(200)) as raw, pytest.raises(NoAnswer) as caught:
        ask("GET", raw.url, timeout_s=1, headers={"Authorization": "Bearer x\r\nX-Other: sk-made-up"})
    assert "sk-made-up" not in caught.value.message
    assert raw.requests == []


def test_it_reports_tls_where_the_other_side_speaks_none() -> None:
    with raw_server(b"SSH-2.0-x\r\n", greets=True) as raw:
        failure = fails(raw.url.replace("http:", "https:"), timeout_s=5)
    assert failure.kind == "tls"


def test_it_bounds_a_body_that_drips() -> None:
    with raw_server(answer(200, b"x" * 1000), drip_s=0.02) as raw:
        failure = fails(raw.url)
    assert failure.kind == "timeout"
    assert failure.message.endswith("did not answer within 0.6 s")


def test_it_stops_reading_a_body_of_unstated_length_at_the_cap() -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 100
    with raw_server(endless) as raw:
        assert fails(raw.url, cap=100_000).kind == "too_large"


@pytest.mark.parametrize(("cap", "whole"), [(1000, True), (999, False)])
def test_it_takes_a_body_up_to_the_cap_and_not_a_byte_more(cap: int, whole: bool) -> None:
    data = b"x" * 1000
    unstated = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + data
    with raw_server(unstated, hang_up=True) as raw:
        if whole:
            assert ask("GET", raw.url, timeout_s=5, cap=cap).body == data
        else:
            assert fails(raw.url, cap=cap).kind == "too_large"


def test_it_does_not_unpack_what_would_pass_the_cap_only_packed() -> None:
    with raw_server(answer(200, b"\x1f\x8b packed", headers="Content-Encoding: gzip\r\n")) as raw:
        assert ask("GET", raw.url, timeout_s=5).body == b"\x1f\x8b packed"
    assert "accept-encoding: identity" in raw.requests[0].lower()


def test_it_takes_a_redirect_as_the_answer() -> None:
    with raw_server(answer(302, headers="Location: /elsewhere\r\n")) as raw:
        got = ask("GET", raw.url, timeout_s=5)
    assert (got.status, got.redirects) == (302, True)
    assert len(raw.requests) == 1


@pytest.mark.parametrize("status", [200, 204, 401, 404, 500, 503])
def test_it_takes_any_status_as_an_answer(status: int) -> None:
    with raw_server(answer(status, {"a": 1} if status != 204 else b"")) as raw:
        got = ask("GET", raw.url, timeout_s=5)
    assert (got.status, got.redirects) == (status, False)
    assert got.latency_s > 0


def test_it_sends_json_with_its_type() -> None:
    with raw_server(answer(200)) as raw:
        ask("PATCH", f"{raw.url}/a", timeout_s=5, headers={"Authorization": "Bearer k"}, json={"id": "é"})
    request = raw.requests[0]
    assert request.startswith("PATCH /a HTTP/1.1")
    assert "Content-Type: application/json" in request
    assert "Authorization: Bearer k" in request
    assert request.endswith('{"id":"é"}')


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")


def test_it_ignores_the_proxies_of_the_environment(proxied: None) -> None:
    with raw_server(answer(200)) as raw:
        assert ask("GET", raw.url, timeout_s=5).status == 200


def test_it_keeps_a_connection_and_no_cookie_between_requests() -> None:
    async def twice(url: str) -> list[Answer]:
        async with Session() as session:
            return [await session.ask("GET", url, timeout_s=5) for _ in range(2)]

    with raw_server(answer(200, {}, headers="Set-Cookie: a=b\r\n")) as raw:
        asyncio.run(twice(raw.url))
    assert (raw.connections, len(raw.requests)) == (1, 2)
    assert "cookie" not in raw.requests[1].lower()


def test_it_drops_a_connection_whose_answer_it_gave_up() -> None:
    async def twice(url: str) -> int:
        async with Session() as session:
            with pytest.raises(NoAnswer):
                await session.ask("GET", url, timeout_s=5, cap=10)
            return (await session.ask("GET", url, timeout_s=5)).status

    with raw_server(answer(200, b"x" * 8_000_000), answer(201)) as raw:
        assert asyncio.run(twice(raw.url)) == 201
    assert raw.connections == 2


@pytest.mark.parametrize(
    ("kind", "body", "page"),
    [
        ("text/html; charset=utf-8", b"Loading", True),
        ("application/json", b"\n <!doctype html>", True),
        ("application/json", b"{}", False),
        ("text/plain", b"", False),
    ],
)
def test_it_recognises_a_page(kind: str, body: bytes, page: bool) -> None:
    with raw_server(answer(200, body, kind=kind)) as raw:
        assert ask("GET", raw.url, timeout_s=5).is_page is page
