"""One LiteLLM proxy: the routes on a port, a poll of the store, and what was asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from sim.litellm.faults import Fault, Handler
from sim.litellm.health import Health
from sim.litellm.routes import Routes
from sim.litellm.store import Router, Row, Store
from sim.site import Site

MASTER_KEY = "sk-test-master-key-0123456789"


@dataclass(frozen=True)
class Call:
    method: str
    path: str  #: without the query
    query: str
    status: int


class LiteLLM:
    """A replica on `store`; several on one store see each other's writes up to `poll_s` late.

    `calls` is everything that was asked, `reads` and `writes` the parts that count when LiteLLM must be left in
    peace; completions are neither. `faults` are tried in order before the real answer. `background_s`: see Health.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        master_key: str = MASTER_KEY,
        config_rows: Iterable[Row] = (),
        poll_s: float = 30.0,
        background_s: float | None = None,
        told_background_s: int | None = None,
    ) -> None:
        self.store = store or Store()
        self.router = Router(self.store, config_rows)
        self.master_key, self.poll_s = master_key, poll_s
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self._checks = Health(self.router, background_s, told_background_s)
        self._routes = Routes(self.store, self.router, master_key, self._checks)
        self._site: Site | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def base_url(self) -> str:
        return self._site.url if self._site else ""

    @property
    def reads(self) -> list[Call]:
        return [call for call in self.calls if call.method == "GET"]

    @property
    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET" and call.path.startswith("/model/")]

    def rows(self) -> dict[str, Row]:
        """The stored rows by id, secrets included: what a test looks at instead of asking over HTTP."""
        return dict(self.store.rows)

    @web.middleware
    async def _record(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        status = 500
        try:
            answer = await self._answer(request, handler)
            status = answer.status
            return answer
        except web.HTTPException as refusal:
            status = refusal.status
            raise
        finally:
            self.calls.append(Call(request.method, request.path, request.query_string, status))

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        for fault in self.faults:
            if fault.takes(request):
                return await fault.answer(request, handler)
        return await handler(request)

    async def _keep_polling(self) -> None:
        while True:
            await asyncio.sleep(self.poll_s)
            if self.store.connected:
                self.router.reload()

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serve; the base URL. Port 0 takes a free one."""
        app = web.Application(middlewares=[self._record], client_max_size=8 * 1024 * 1024)
        app.add_routes(self._routes.table())
        self._routes.session = self._checks.session = aiohttp.ClientSession(trust_env=False)
        self._site = Site(app)
        self._tasks = [asyncio.create_task(self._keep_polling()), asyncio.create_task(self._checks.keep_checking())]
        return await self._site.start(host, port)

    async def stop(self) -> None:
        if self._site is None:
            return
        for task in self._tasks:
            task.cancel()
        await self._site.stop()
        await self._routes.session.close()
