from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from sim.garbage import HUGE_BYTES, Fault, garbage_server, numbers_as_text, without_lists


def _get(url: str, timeout_s: float = 10.0, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout_s)) as session,
            session.request(method, f"{url}/any/path", data=body, allow_redirects=False) as answer,
        ):
            return answer.status, await answer.read()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("fault", "status", "start"),
    [
        (Fault.HTML, 200, b"<!doctype html>"),
        (Fault.EMPTY, 200, b""),
        (Fault.NOT_AN_OBJECT, 200, b"42"),
        (Fault.BINARY, 200, b"\xff\xfe"),
        (Fault.REDIRECT, 302, b""),
    ],
)
def test_it_answers_with_the_chosen_fault(fault: Fault, status: int, start: bytes) -> None:
    with garbage_server(fault) as url:
        answered, body = _get(url)
    assert answered == status
    assert body[: len(start) or None] == start  # nothing expected means nothing sent


def test_it_sends_json_that_stops_in_its_middle() -> None:
    with garbage_server(Fault.TRUNCATED) as url:
        status, body = _get(url)
    assert status == 200 and len(body) > 100
    with pytest.raises(ValueError):
        json.loads(body)


def test_it_sends_ten_megabytes_of_valid_json() -> None:
    with garbage_server(Fault.HUGE) as url:
        status, body = _get(url)
    assert status == 200 and len(body) > HUGE_BYTES
    assert json.loads(body)["success"] is True


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.HANG_UP, Fault.CUT, Fault.NOT_HTTP])
def test_it_breaks_the_connection(fault: Fault) -> None:
    with garbage_server(fault) as url, pytest.raises(aiohttp.ClientError):
        _get(url)


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.SLOW_HEADERS, Fault.SLOW_BODY])
def test_it_never_finishes(fault: Fault) -> None:
    with garbage_server(fault, drip_s=0.01) as url, pytest.raises(TimeoutError):
        _get(url, timeout_s=0.5)


def test_it_spoils_the_body_it_was_given() -> None:
    good = {"n": 1, "ok": True, "rows": [{"price": 0.5}]}
    with garbage_server(Fault.NUMBERS_AS_TEXT, good=good) as url:
        assert json.loads(_get(url)[1]) == {"n": "1", "ok": True, "rows": [{"price": "0.5"}]}
    with garbage_server(Fault.NULL_LISTS, good=good) as url:
        assert json.loads(_get(url)[1]) == {"n": 1, "ok": True, "rows": None}


def test_it_takes_a_body_and_answers_under_another_status() -> None:
    with garbage_server(Fault.STATUS, status=503, good={"detail": "busy"}) as url:
        assert _get(url, method="POST", body=b"x" * 300_000) == (503, b'{"detail": "busy"}')


@pytest.mark.parametrize(
    ("spoil", "value", "expected"), [(numbers_as_text, [1, None], ["1", None]), (without_lists, [1], None)]
)
def test_it_spoils_values_at_the_top(spoil: Any, value: Any, expected: Any) -> None:
    assert spoil(value) == expected
