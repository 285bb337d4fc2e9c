"""A simulated box: it asks llmao what to run, loads it, serves it, and can be made to misbehave.

A box is one loopback address (Linux answers on all of 127.0.0.0/8), so that several boxes with the same ports live on
one machine. Its requests to llmao leave from that address. All methods belong to the loop that the box lives in.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from sim.vllm import VLLM, Listener

ASK_TIMEOUT_S = 10.0


def free_port(host: str) -> int:
    """A port that nothing uses on this address now. It is not held: take it soon."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@dataclass
class Server:
    """What config told the box to run on one listen port, and how far it is."""

    listen: int
    spec: dict[str, Any]  #: the server's entry in GET /vllm/config
    vllm: VLLM
    listener: Listener | None = None  #: None when no public port leads here
    state: str = "loading"  #: loading, serving, crashed
    problem: str = ""  #: why it could not listen
    task: asyncio.Task[None] | None = None


@dataclass
class Clocks:
    load_s: float = 2.0  #: from being told to run a model to listening
    ask_s: float = 1.0  #: between two questions for the config


@dataclass
class Misbehaviour:
    """How its servers behave, now and after the next restart. Applied by `Box.behave`."""

    open: bool = False
    hung: bool = False
    refuse_rate: float = 0.0
    health_status: int = 200
    served_ids: dict[int, str] = field(default_factory=dict)  #: listen port → another id than config says


class Box:
    """`ports` maps listen to public ports; a box that is `rented` is unreachable on a port that it does not map."""

    def __init__(
        self,
        host: str,
        *,
        llmao_url: Callable[[], str | None],
        fleet_key: str,
        ports: dict[int, int] | None = None,
        rented: bool = True,
        clocks: Clocks | None = None,
    ) -> None:
        self.host, self.fleet_key, self.rented = host, fleet_key, rented
        self.ports = dict(ports or {})
        self.clocks = clocks or Clocks()
        self.servers: dict[int, Server] = {}
        self.ways = Misbehaviour()
        self.alive = False
        self.asks = True  #: whether it asks llmao for its config
        self.last_answer: int | str | None = None  #: status of the last question, or why there was none
        self.revision: str | None = None
        self._etag: str | None = None
        self._llmao_url = llmao_url
        self._asking: asyncio.Task[None] | None = None

    # -- life

    async def come_up(self) -> None:
        """Start, or return after `die`: it asks afresh and loads everything again."""
        self.alive, self._etag, self.revision, self.last_answer = True, None, None, None
        if self.asks:
            await self.start_asking()

    async def start_asking(self) -> None:
        """For a box that has been silent so far."""
        self.asks = True
        if self.alive and self._asking is None:
            self._asking = asyncio.create_task(self._keep_asking())

    async def die(self) -> None:
        """Everything at once: connections drop, nothing listens, nobody asks."""
        self.alive = False
        if self._asking is not None:
            await _cancelled(self._asking)
            self._asking = None
        for server in list(self.servers.values()):
            await self._end(server)

    async def crash(self, listen: int) -> None:
        """One server dies and stays so until its config changes; the box goes on asking."""
        server = self.servers[listen]
        await self._silence(server)
        server.state = "crashed"

    async def remap(self, listen: int, public: int) -> None:
        """The provider maps the port elsewhere: the old address is dead from now on, the new one serves."""
        self.ports[listen] = public
        server = self.servers.get(listen)
        if server is None:
            return
        was_serving = server.state == "serving"
        await self._silence(server)
        server.listener = self._listener(server)
        if was_serving:
            await self._listen(server)
        else:
            self._start_loading(server)

    def behave(self, ways: Misbehaviour) -> None:
        """Misbehave from the next request on; `Misbehaviour()` ends it."""
        self.ways = ways
        for server in self.servers.values():
            self._teach(server)

    # -- what llmao told it

    async def _keep_asking(self) -> None:
        connector = aiohttp.TCPConnector(local_addr=(self.host, 0), force_close=True)
        timeout = aiohttp.ClientTimeout(total=ASK_TIMEOUT_S)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            while True:
                await self._ask(session)
                await asyncio.sleep(self.clocks.ask_s)

    async def _ask(self, session: aiohttp.ClientSession) -> None:
        url = self._llmao_url()
        if url is None:
            return
        headers = {"Authorization": f"Bearer {self.fleet_key}", "X-LLMAO-Host": self.host}
        if self._etag is not None:
            headers["If-None-Match"] = self._etag
        try:
            async with session.get(f"{url}/vllm/config", headers=headers) as answer:
                self.last_answer = answer.status
                if answer.status == 200:
                    await self._obey(await answer.json(), answer.headers.get("ETag"))
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            self.last_answer = f"{type(problem).__name__}: {problem}"

    async def _obey(self, config: dict[str, Any], etag: str | None) -> None:
        """Run exactly what the config lists: start what is new, restart what changed, stop what is gone."""
        wanted = {int(spec["port"]): spec for spec in config["servers"]}
        for listen, server in list(self.servers.items()):
            if wanted.get(listen) != server.spec:
                await self._end(server)
        for listen, spec in wanted.items():
            if listen not in self.servers:
                self.run(listen, spec)
        self._etag, self.revision = etag, config.get("revision")

    def run(self, listen: int, spec: dict[str, Any]) -> Server:
        """Load one server, as if the config had listed it."""
        served = spec.get("served_model_name") or spec["model"]
        vllm = VLLM(served, spec["model"], spec["api_key"], int(spec.get("max_model_len") or 32768))
        server = Server(listen, spec, vllm)
        server.listener = self._listener(server)
        self.servers[listen] = server
        self._teach(server)
        self._start_loading(server)
        return server

    # -- one server

    def _public(self, listen: int) -> int | None:
        return self.ports.get(listen) if self.rented else self.ports.get(listen, listen)

    def _listener(self, server: Server) -> Listener | None:
        public = self._public(server.listen)
        return None if public is None else Listener(server.vllm, self.host, public)

    def _teach(self, server: Server) -> None:
        vllm, ways = server.vllm, self.ways
        vllm.open, vllm.hung, vllm.refuse_rate, vllm.health_status = (
            ways.open,
            ways.hung,
            ways.refuse_rate,
            ways.health_status,
        )
        vllm.served_id = ways.served_ids.get(server.listen) or server.spec.get("served_model_name") or vllm.weights

    def _start_loading(self, server: Server) -> None:
        server.state = "loading"
        server.task = asyncio.create_task(self._load(server))

    async def _load(self, server: Server) -> None:
        await asyncio.sleep(self.clocks.load_s)
        await self._listen(server)

    async def _listen(self, server: Server) -> None:
        try:
            if server.listener is not None:
                await server.listener.open()
        except OSError as problem:
            server.state, server.problem = "crashed", str(problem)
            return
        server.state = "serving"

    async def _silence(self, server: Server) -> None:
        if server.task is not None:
            await _cancelled(server.task)
        if server.listener is not None:
            await server.listener.close()

    async def _end(self, server: Server) -> None:
        await self._silence(server)
        self.servers.pop(server.listen, None)
