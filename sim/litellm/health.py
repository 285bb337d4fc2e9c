"""LiteLLM's checks of its rows: asked for, or made in the background and answered from a cache that has no times."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
from aiohttp import web

from sim.litellm import bodies, upstream
from sim.litellm.store import Router, Row
from sim.litellm.who import refused

#: A connection test does not know the row's own time limit.
TEST_TIMEOUT_S = upstream.HEALTH_TIMEOUT_S


class Health:
    """The checks of one replica. `background_s`: None makes a check whenever it is asked for; a number makes all of
    them that often, and answers with what the last round found. `told_s` is the interval as its configuration says
    it, None where it says nothing."""

    def __init__(self, router: Router, background_s: float | None, told_s: int | None) -> None:
        self._router = router
        self.background_s, self.told_s = background_s, told_s
        self.session: aiohttp.ClientSession  # opened with the server, in its loop
        self._cached: dict[str, Any] = {}  # nothing at all before the first round has ended

    async def keep_checking(self) -> None:
        """For ever, in the background."""
        while self.background_s is not None:
            up, down = await upstream.check_all(self.session, list(self._router.rows.values()))
            self._cached = bodies.health(up, down)
            await asyncio.sleep(self.background_s)

    async def answer(self, rows: list[Row], wanted: str | None, name: str | None) -> web.Response:
        """`rows` are what the caller may see. 503 when it was narrowed and nothing is up; the list of all answers 200
        even when everything is down."""
        narrowed = [row for row in rows if wanted in (None, row.id) and name in (None, row.model_name)]
        if wanted and not narrowed:
            raise refused(404, {"detail": {"error": f"Model with ID {wanted} not found"}})
        told = await self._told(narrowed, whole=not wanted and not name)
        return web.json_response(told, status=503 if (wanted or name) and not told["healthy_endpoints"] else 200)

    async def _told(self, rows: list[Row], *, whole: bool) -> dict[str, Any]:
        if self.background_s is None:
            return bodies.health(*await upstream.check_all(self.session, rows))
        if whole:
            return self._cached
        ids = {row.id for row in rows}
        up, down = (
            [each for each in self._cached.get(name, []) if each["model_id"] in ids]
            for name in ("healthy_endpoints", "unhealthy_endpoints")
        )
        return bodies.health(up, down)

    async def test_connection(self, request: web.Request) -> web.Response:
        """A check of the row of `model_info.id`, made now."""
        body = json.loads(await request.text() or "{}")
        row = self._router.rows.get(str((body.get("model_info") or {}).get("id")))
        if row is None:
            raise refused(500, {"detail": {"error": "Failed to test connection: 'model'"}})
        up, endpoint = await upstream.check(self.session, row, TEST_TIMEOUT_S)
        shown = {name: endpoint[name] for name in ("api_base", "model", "error") if name in endpoint}
        return web.json_response({"status": "success" if up else "error", "result": shown})

    def setting(self, name: str) -> web.Response:
        """GET /config/field/info of the two settings that say how checks are made."""
        given = {
            "background_health_checks": self.background_s is not None or None,
            "health_check_interval": self.told_s,
        }
        if given.get(name) is None:
            raise refused(400, {"detail": {"error": f"Field name={name} is not set"}})
        told = {"field_name": name, "field_value": given[name], "source": "config", "editable": False}
        return web.json_response(told)
