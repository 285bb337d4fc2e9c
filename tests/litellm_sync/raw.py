"""A server that answers every request with the same bytes, whatever they are, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sim.background import LoopThread


def answer(status: int, body: Any = b"", *, headers: str = "", kind: str = "application/json") -> bytes:
    """A well-formed answer; a body that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
    return head.encode() + data


@dataclass
class Raw:
    """Each item of `answers` answers one request, the last one every further one; `greets` sends without being asked.
    `requests` are heads and bodies as text; `connections` counts those that were opened."""

    answers: list[bytes]
    drip_s: float = 0.0
    hang_up: bool = False
    greets: bool = False
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                if not self.greets:
                    self.requests.append(await _request(reader))
                await self._send(writer)
                if self.hang_up or self.greets:
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is done
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        data = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        pieces = [data] if not self.drip_s else [data[place : place + 1] for place in range(len(data))]
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(self.drip_s)


async def _request(reader: asyncio.StreamReader) -> str:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = next((line for line in head.split("\r\n") if line.lower().startswith("content-length:")), ":0")
    return head + (await reader.readexactly(int(length.partition(":")[2]))).decode()


@contextmanager
def raw_server(*answers: bytes, drip_s: float = 0.0, hang_up: bool = False, greets: bool = False) -> Iterator[Raw]:
    """A Raw on a free loopback port, until the block ends."""
    raw = Raw(list(answers), drip_s, hang_up, greets)
    with LoopThread("raw") as background:
        server = background.run(asyncio.start_server(raw.serve, "127.0.0.1", 0))
        raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield raw
        finally:
            background.run(_close(server))


async def _close(server: asyncio.Server) -> None:
    server.close()
