"""A server that answers every request, of any method and path, with one chosen fault.

    with garbage_server(Fault.HTML) as url:
        ...  # url is "http://127.0.0.1:PORT", without a slash at the end

It speaks raw asyncio, because a well-behaved HTTP library refuses to send most of this.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import StrEnum
from typing import Any

from sim.background import LoopThread

HUGE_BYTES = 10 * 1024 * 1024
PAGE = "<!doctype html><html><head><title>Just a moment</title></head><body>Loading</body></html>"
#: Looks enough like every source's good answer that a careless parser would take what is left of it.
LISTING: dict[str, Any] = {
    "success": True,
    "instances_found": 1,
    "total_instances": 1,
    "next_token": None,
    "instances": [
        {
            "id": 31415926,
            "public_ipaddr": "203.0.113.17",
            "actual_status": "running",
            "ports": {"8000/tcp": [{"HostIp": "::", "HostPort": "41234"}]},
            "num_gpus": 2,
            "dph_total": 0.7133,
        }
    ],
    "pods": [{"id": "p1", "status": "RUNNING", "cost": 0.69}],
    "data": [{"id": "qwen3-8b", "root": "Qwen/Qwen3-8B", "parent": None, "max_model_len": 32768}],
    "healthy_endpoints": [],
    "unhealthy_endpoints": [],
}


class Fault(StrEnum):
    HTML = "html"  #: 200 and a page
    EMPTY = "empty"  #: 200 and no body
    TRUNCATED = "truncated"  #: 200 and the first half of the JSON, with a matching Content-Length
    CUT = "cut"  #: 200 that promises the whole body and hangs up in its middle
    NULL_LISTS = "null_lists"  #: the good body with null for every list
    NUMBERS_AS_TEXT = "numbers_as_text"  #: the good body with every number as a string
    NOT_AN_OBJECT = "not_an_object"  #: 200 and a JSON number
    BINARY = "binary"  #: 200 and bytes that are no UTF-8
    HUGE = "huge"  #: 200 and 10 MB of valid JSON
    SLOW_HEADERS = "slow_headers"  #: the status line and headers, a byte each drip_s, for ever
    SLOW_BODY = "slow_body"  #: good headers, then the body a byte each drip_s, for ever
    REDIRECT = "redirect"  #: 302 to another path of itself
    RESET = "reset"  #: TCP reset after the request was read
    HANG_UP = "hang_up"  #: closes without a byte
    SILENT = "silent"  #: reads the request and never answers
    NOT_HTTP = "not_http"  #: a line that is no HTTP
    STATUS = "status"  #: the good body under another status (argument `status`)


def without_lists(value: Any) -> Any:
    """The same JSON value with null in place of every list."""
    if isinstance(value, dict):
        return {name: without_lists(each) for name, each in value.items()}
    return None if isinstance(value, list) else value


def numbers_as_text(value: Any) -> Any:
    """The same JSON value with every number as a string; true and false stay."""
    if isinstance(value, dict):
        return {name: numbers_as_text(each) for name, each in value.items()}
    if isinstance(value, list):
        return [numbers_as_text(each) for each in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _padded(good: Any) -> bytes:
    """The good body with a field that makes it HUGE_BYTES long: a cap must stop it, not a parser."""
    return json.dumps({"padding": "x" * HUGE_BYTES, **(good if isinstance(good, dict) else {})}).encode()


_BODIES: dict[Fault, Callable[[Any], bytes]] = {
    Fault.HTML: lambda _: PAGE.encode(),
    Fault.EMPTY: lambda _: b"",
    Fault.TRUNCATED: lambda good: json.dumps(good).encode()[: len(json.dumps(good)) // 2],
    Fault.NULL_LISTS: lambda good: json.dumps(without_lists(good)).encode(),
    Fault.NUMBERS_AS_TEXT: lambda good: json.dumps(numbers_as_text(good)).encode(),
    Fault.NOT_AN_OBJECT: lambda _: b"42",
    Fault.BINARY: lambda _: b"\xff\xfe\x00\x80" * 64,
    Fault.HUGE: _padded,
    Fault.REDIRECT: lambda _: b"",
}


def _head(status: int, length: int, kind: str, extra: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
        f"Connection: close\r\n{extra}\r\n"
    ).encode()


async def _read_request(reader: asyncio.StreamReader) -> None:
    """All of it, body included: closing on unread bytes would turn every answer into a reset."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    lengths = [line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length:")]
    await reader.readexactly(int(lengths[0]) if lengths else 0)


async def _drip(writer: asyncio.StreamWriter, text: bytes, drip_s: float) -> None:
    while True:
        for byte in text:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(drip_s)


def _reset(writer: asyncio.StreamWriter) -> None:
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class _Garbage:
    def __init__(self, fault: Fault, good: Any, status: int, drip_s: float) -> None:
        self.fault, self.good, self.status, self.drip_s = fault, good, status, drip_s

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _read_request(reader)
            await self._answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left, as it should
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        special: dict[Fault, Callable[[asyncio.StreamWriter], Awaitable[None]]] = {
            Fault.SILENT: self._silent,
            Fault.RESET: self._reset,
            Fault.HANG_UP: self._hang_up,
            Fault.SLOW_HEADERS: self._slow_headers,
            Fault.SLOW_BODY: self._slow_body,
            Fault.CUT: self._cut,
            Fault.NOT_HTTP: self._not_http,
        }
        await special.get(self.fault, self._whole)(writer)

    async def _silent(self, _: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def _hang_up(self, _: asyncio.StreamWriter) -> None:
        return None

    async def _reset(self, writer: asyncio.StreamWriter) -> None:
        _reset(writer)

    async def _slow_headers(self, writer: asyncio.StreamWriter) -> None:
        await _drip(writer, b"HTTP/1.1 200 OK\r\n" + b"X-Padding: slow\r\n" * 1000, self.drip_s)

    async def _slow_body(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, HUGE_BYTES, "application/json"))
        await _drip(writer, b" " * 1000, self.drip_s)

    async def _cut(self, writer: asyncio.StreamWriter) -> None:
        body = json.dumps(self.good).encode()
        writer.write(_head(200, len(body), "application/json") + body[: len(body) // 2])
        await writer.drain()

    async def _not_http(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.invalid ESMTP ready\r\n")
        await writer.drain()

    async def _whole(self, writer: asyncio.StreamWriter) -> None:
        body = _BODIES.get(self.fault, lambda good: json.dumps(good).encode())(self.good)
        redirect = self.fault is Fault.REDIRECT
        kind = "text/html" if self.fault is Fault.HTML else "application/json"
        extra = "Location: /elsewhere\r\n" if redirect else ""
        status = 302 if redirect else self.status
        writer.write(_head(status, len(body), kind, extra) + body)
        await writer.drain()


@asynccontextmanager
async def serving_garbage(
    fault: Fault, *, good: Any = None, status: int = 200, drip_s: float = 0.05, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """`garbage_server` for a test that has a loop of its own."""
    answer = _Garbage(fault, LISTING if good is None else good, status, drip_s)
    server = await asyncio.start_server(answer, host, port)
    try:
        yield f"http://{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@contextmanager
def garbage_server(
    fault: Fault, *, good: Any = None, status: int = 200, drip_s: float = 0.05, host: str = "127.0.0.1", port: int = 0
) -> Iterator[str]:
    """The base URL of a server that answers everything with `fault`, until the block ends.

    `good` is the JSON value that the fault spoils (default: LISTING, shaped a little like every source).
    """
    with LoopThread("garbage") as background:
        opening = serving_garbage(fault, good=good, status=status, drip_s=drip_s, host=host, port=port)
        url = background.run(opening.__aenter__())
        try:
            yield url
        finally:
            background.run(opening.__aexit__(None, None, None))
