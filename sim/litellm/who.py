"""Who asks: the admin, a virtual key, or nobody.

A virtual key is no admin, and LiteLLM does not say so on a read: /model/info answers 200 with the rows that the key
may see, which can be none. Only /health/readiness/details (401) and the writes (403) tell.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from sim.litellm import bodies
from sim.litellm.store import Row, Store


@dataclass(frozen=True)
class Caller:
    admin: bool
    models: tuple[str, ...] = ()  #: a virtual key's; none = all

    def may_see(self, row: Row) -> bool:
        return self.admin or not self.models or row.model_name in self.models


def refused(status: int, body: dict[str, Any]) -> web.HTTPException:
    """An answer to raise: aiohttp's exception of that status, with LiteLLM's body."""
    kinds: dict[int, type[web.HTTPException]] = {
        400: web.HTTPBadRequest,
        401: web.HTTPUnauthorized,
        403: web.HTTPForbidden,
        404: web.HTTPNotFound,
        422: web.HTTPUnprocessableEntity,
        429: web.HTTPTooManyRequests,
        500: web.HTTPInternalServerError,
    }
    return kinds[status](text=json.dumps(body), content_type="application/json")


def caller(request: web.Request, store: Store, master_key: str) -> Caller:
    """Raises the 401 of a missing or unknown key."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise refused(401, bodies.error("Authentication Error, No api key passed in.", "auth_error", 401, "None"))
    if hmac.compare_digest(key.encode(), master_key.encode()):
        return Caller(admin=True)
    if key in store.virtual_keys:
        return Caller(admin=False, models=tuple(store.virtual_keys[key]))
    message = "Authentication Error, Invalid API key provided."
    raise refused(401, bodies.error(message, "token_not_found_in_db", 401, "key"))


def require_admin_route(who: Caller, route: str) -> None:
    if not who.admin:
        message = (
            "Authentication Error, Only proxy admin can be used to generate, delete, update info for new "
            f"keys/users/teams. Route={route}. Your role=unknown. Your user_id=*******"
        )
        raise refused(401, bodies.error(message, "auth_error", 401, "None"))


_NO_PERMISSION = (
    "User does not have permission to make this model call. Your role=internal_user. You can only make model calls if "
    "you are a PROXY_ADMIN or if you are a team admin, by specifying a team_id in the model_info."
)


def require_admin(who: Caller, *, patch: bool = False) -> None:
    """The two shapes of the same refusal: PATCH answers with `detail`, create and delete with `error`."""
    if not who.admin:
        told = {"error": _NO_PERMISSION}
        raise refused(403, {"detail": told} if patch else bodies.error(str(told), "auth_error", 403, "None"))
