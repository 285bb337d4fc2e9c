"""Simulated boxes in a process of their own, as cheap as can be: they must not be what is measured.

python -m bench.boxes 500      prints one port a line, and serves until its input ends
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEY = "sk-vllm-made-up-for-the-bench"
_ROW = {"id": "qwen3-8b", "object": "model", "created": 1796067365, "owned_by": "vllm", "root": "Qwen/Qwen3-8B"}
_MODELS = json.dumps({"object": "list", "data": [{**_ROW, "parent": None, "max_model_len": 32768}]}).encode()


def _answer(status: str, body: bytes = b"") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nServer: uvicorn\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


_HEALTH, _LIST, _REFUSAL = _answer("200 OK"), _answer("200 OK", _MODELS), _answer("401 Unauthorized", b"{}")


class _Box(asyncio.Protocol):
    """Keeps connections open and answers each request head as it comes whole."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if self._head.endswith(b"\r\n\r\n") and isinstance(self._transport, asyncio.Transport):
            self._transport.write(_reply(self._head))
            self._head = b""


def _reply(head: bytes) -> bytes:
    if head.startswith(b"GET /health "):
        return _HEALTH
    return _LIST if f"Bearer {KEY}\r\n".encode() in head else _REFUSAL


async def _serve(boxes: int) -> None:
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(_Box, "127.0.0.1", 0, backlog=64) for _ in range(boxes)]
    print("\n".join(str(server.sockets[0].getsockname()[1]) for server in servers), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def running(boxes: int) -> Iterator[list[str]]:
    """The URLs of that many boxes in another process, until the block ends."""
    command = [sys.executable, "-m", "bench.boxes", str(boxes)]
    root = Path(__file__).resolve().parent.parent
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdin is not None  # noqa: S101  # asked for above
        assert process.stdout is not None  # noqa: S101
        try:
            yield [f"http://127.0.0.1:{process.stdout.readline().strip()}" for _ in range(boxes)]
        finally:
            process.stdin.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
