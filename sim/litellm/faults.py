"""Faults to order: LiteLLM answers wrongly, late or not at all, before or after it has done what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Fault:
    """Spoils requests whose path starts with `path` (and whose method is `method`, where given).

    status None lets the real answer through, `delay_s` late. `after` carries the request out first: with a status
    or a delay that is a write whose answer was lost. `times` None means until removed.
    """

    path: str
    method: str | None = None
    status: int | None = None
    text: str = "upstream error"
    content_type: str = "text/plain"
    delay_s: float = 0.0
    after: bool = False
    times: int | None = None

    def takes(self, request: web.Request) -> bool:
        if self.times == 0 or not request.path.startswith(self.path):
            return False
        return self.method is None or self.method == request.method

    async def answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self.times is not None:
            self.times -= 1
        done = await handler(request) if self.after else None
        await asyncio.sleep(self.delay_s)
        if self.status is not None:
            return web.Response(status=self.status, text=self.text, content_type=self.content_type)
        return done or await handler(request)
