"""The calls of LiteLLM that llmao makes, and the completions that its callers make."""

from __future__ import annotations

import json
import random
import secrets
import uuid
from typing import Any

import aiohttp
from aiohttp import web

from sim.litellm import bodies, upstream
from sim.litellm.health import Health
from sim.litellm.store import Router, Row, Store, kept_info, without_nulls
from sim.litellm.who import Caller, caller, refused, require_admin, require_admin_route

VERSION = "1.108.7"
COMPLETION_TIMEOUT_S = 60.0


def _not_found(row_id: str) -> web.HTTPException:
    return refused(404, bodies.error(f"Model {row_id} not found on proxy.", "not_found_error", 404))


def _missing(name: str) -> web.HTTPException:
    return refused(422, {"detail": [{"type": "missing", "loc": ["body", name], "msg": "Field required"}]})


def _internal_error() -> web.HTTPException:
    message = {"message": "Internal server error", "type": "internal_server_error"}
    return refused(500, {"error": message})


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.text() or "{}")
    except ValueError:
        detail = {"type": "json_invalid", "loc": ["body", 1], "msg": "JSON decode error"}
        raise refused(422, {"detail": [detail]}) from None
    return body if isinstance(body, dict) else {}


class Routes:
    """Handlers of one replica."""

    def __init__(self, store: Store, router: Router, master_key: str, checks: Health) -> None:
        self.store, self.router, self.master_key, self.checks = store, router, master_key, checks
        self.session: aiohttp.ClientSession  # opened with the server, in its loop

    def table(self) -> list[web.RouteDef]:
        return [
            web.get("/health/readiness", self.readiness),
            web.get("/health/readiness/details", self.details),
            web.get("/model/info", self.model_info),
            web.get("/v1/model/info", self.model_info),
            web.get("/v2/model/info", self.model_info_paged),
            web.post("/model/new", self.new),
            web.patch("/model/{id}/update", self.update),
            web.post("/model/delete", self.delete),
            web.post("/model/block", self.block),
            web.post("/model/unblock", self.unblock),
            web.get("/health", self.health),
            web.post("/health/test_connection", self.test_connection),
            web.get("/config/field/info", self.setting),
            web.get("/models", self.models),
            web.get("/v1/models", self.models),
            web.post("/v1/chat/completions", self.chat),
            web.post("/key/generate", self.generate_key),
        ]

    def _caller(self, request: web.Request) -> Caller:
        return caller(request, self.store, self.master_key)

    # -- reads

    async def readiness(self, _: web.Request) -> web.Response:
        state = "connected" if self.store.connected else "disconnected"
        return web.json_response({"status": "healthy", "db": state}, status=200 if self.store.connected else 503)

    async def details(self, request: web.Request) -> web.Response:
        require_admin_route(self._caller(request), request.path)
        state = "connected" if self.store.connected else "disconnected"
        told = {"status": "healthy", "db": state, "cache": None, "litellm_version": VERSION}
        return web.json_response(told, status=200 if self.store.connected else 503)

    def _visible(self, request: web.Request) -> list[Row]:
        who = self._caller(request)
        return [row for row in self.router.rows.values() if who.may_see(row)]

    async def model_info(self, request: web.Request) -> web.Response:
        wanted = request.query.get("litellm_model_id")
        rows = [row for row in self._visible(request) if wanted in (None, row.id)]
        return web.json_response({"data": [bodies.listed(row) for row in rows]})

    async def model_info_paged(self, request: web.Request) -> web.Response:
        rows = self._visible(request)
        page, size = int(request.query.get("page", 1)), int(request.query.get("size", 50))
        shown = [bodies.listed(row) for row in rows[(page - 1) * size : page * size]]
        pages = {"current_page": page, "total_pages": -(-len(rows) // size), "size": size}
        return web.json_response({"data": shown, "total_count": len(rows), **pages})

    async def models(self, request: web.Request) -> web.Response:
        names = dict.fromkeys(row.model_name for row in self._visible(request) if not row.blocked)
        return web.json_response(bodies.model_list(list(names)))

    async def health(self, request: web.Request) -> web.Response:
        return await self.checks.answer(
            self._visible(request), request.query.get("model_id"), request.query.get("model")
        )

    async def test_connection(self, request: web.Request) -> web.Response:
        require_admin(self._caller(request))
        return await self.checks.test_connection(request)

    async def setting(self, request: web.Request) -> web.Response:
        if not self._caller(request).admin:
            raise refused(400, {"detail": {"error": "Admin-only endpoint. Not allowed to access this."}})
        return self.checks.setting(request.query.get("field_name", ""))

    # -- writes

    async def new(self, request: web.Request) -> web.Response:
        who, body = self._caller(request), await _body(request)
        if not isinstance(body.get("litellm_params"), dict) or not body.get("model_name"):
            raise _internal_error()
        require_admin(who)
        info = body.get("model_info") or {}
        row = Row(
            id=str(info.get("id") or uuid.uuid4()),
            model_name=str(body["model_name"]),
            litellm_params=without_nulls(body["litellm_params"]),
            model_info=kept_info(info),
        )
        self._create(row)
        return web.json_response(bodies.stored(row, row.id))

    def _create(self, row: Row) -> None:
        if not self.store.connected or row.id in self.store.rows:
            told = {"error": "Failed to add model to db. Check your server logs for more details."}
            raise refused(500, bodies.error(str(told), "auth_error", 500, "None"))
        self.store.rows[row.id] = row
        self.router.reload()
        if row.id not in self.router.rows:
            message = (
                f"Model create was saved to the database, but the model id(s) ['{row.id}'] are not live in this pod's "
                "router after the reload and are not being served by this pod. Other pods reload on their own "
                "interval. Check server logs for 'Error upserting deployment' or 'Error creating deployment' for the "
                "cause."
            )
            raise refused(500, bodies.error(message, "internal_server_error", 500))

    def _require_stored(self, row_id: str) -> None:
        if row_id in self.store.rows:
            return
        if row_id in self.router.rows and not self.router.rows[row_id].db_model:
            message = "Cannot edit config-based model. Store model in DB via /model/new first."
            raise refused(400, bodies.error(message, "validation_error", 400))
        raise _not_found(row_id)

    async def update(self, request: web.Request) -> web.Response:
        who, row_id, body = self._caller(request), request.match_info["id"], await _body(request)
        self._require_stored(row_id)
        require_admin(who, patch=True)
        row = self.store.merge(row_id, body)
        self.router.reload()
        told_id = (body.get("model_info") or {}).get("id") or str(uuid.uuid4())
        return web.json_response(bodies.stored(row, told_id))

    async def delete(self, request: web.Request) -> web.Response:
        who, body = self._caller(request), await _body(request)
        if "id" not in body:
            raise _missing("id")
        row_id = str(body["id"])
        if row_id not in self.store.rows:
            told = {"error": f"Model with id={row_id} not found in db"}
            raise refused(400, bodies.error(str(told), "auth_error", 400, "None"))
        require_admin(who)
        del self.store.rows[row_id]
        self.router.rows.pop(row_id, None)
        return web.json_response({"message": f"Model: {row_id} deleted successfully"})

    async def block(self, request: web.Request) -> web.Response:
        return await self._set_blocked(request, blocked=True)

    async def unblock(self, request: web.Request) -> web.Response:
        return await self._set_blocked(request, blocked=False)

    async def _set_blocked(self, request: web.Request, *, blocked: bool) -> web.Response:
        who, body = self._caller(request), await _body(request)
        require_admin_route(who, request.path)
        if "model_id" not in body:
            raise _missing("model_id")
        self._require_stored(str(body["model_id"]))
        row = self.store.set_blocked(str(body["model_id"]), blocked)
        self.router.reload()
        return web.json_response({**bodies.stored(row, str(uuid.uuid4())), "blocked": blocked})

    async def generate_key(self, request: web.Request) -> web.Response:
        require_admin_route(self._caller(request), request.path)
        key = f"sk-{secrets.token_urlsafe(16)}"
        self.store.virtual_keys[key] = list((await _body(request)).get("models") or [])
        return web.json_response({"key": key, "models": self.store.virtual_keys[key], "key_name": f"sk-...{key[-4:]}"})

    # -- traffic

    def _route(self, who: Caller, name: str) -> Row:
        """One deployment of that name at random, as the real router's default (it also cools failing ones down)."""
        if who.models and name not in who.models:
            message = (
                f"The requested model '{name}' is not available for this API key, or the model name is invalid. "
                "Check the models available to you and try again."
            )
            raise refused(403, bodies.error(message, "key_model_access_denied", 403, "model"))
        rows = self.router.named(name)
        if not rows:
            message = (
                f"/chat/completions: Invalid model name passed in model={name}. Call `/v1/models` to view available "
                "models for your key."
            )
            raise refused(400, bodies.error(message, "invalid_request_error", 400))
        free = [row for row in rows if not row.blocked]
        if not free:
            message = "litellm.PermissionDeniedError: Model is blocked"
            raise refused(403, bodies.error(message, "permission_error", 403))
        return random.choice(free)

    async def chat(self, request: web.Request) -> web.Response:
        who, body = self._caller(request), await _body(request)
        name = str(body.get("model", ""))
        row = self._route(who, name)
        try:
            told = await upstream.complete(self.session, row, body, COMPLETION_TIMEOUT_S)
        except upstream.Failure as failure:
            group = f"LiteLLM: model group '{name}' failed with the error above. No fallback was attempted."
            told = bodies.error(f"{failure.text}\n\n{group}", failure.kind, failure.code)
            return web.json_response(told, status=failure.code)
        return web.json_response({**told, "model": name})
