"""LiteLLM's answers, shaped as version 1.108.7 sends them."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from sim.litellm.store import Row

#: Fields that every litellm_params comes back with, whatever was written.
_PARAM_DEFAULTS = {
    "allow_client_keepalive_override": False,
    "use_in_pass_through": False,
    "use_litellm_proxy": False,
    "use_xai_oauth": False,
    "merge_reasoning_content_in_choices": False,
}
_SECRET_PARAMS = {"api_key", "aws_secret_access_key", "aws_access_key_id", "vertex_credentials"}
_UNITS = ("token", "character", "image", "second", "audio_token", "video_token", "query", "pixel", "image_token")
_TIERS = (
    "",
    "_priority",
    "_flex",
    "_batches",
    "_above_128k_tokens",
    "_above_200k_tokens",
    "_above_272k_tokens",
    "_above_272k_tokens_priority",
    "_above_512k_tokens",
)
#: The map of prices that model_info carries on every row: most of its 8 KB, and all null for a model of one's own.
_COST_MAP: dict[str, Any] = {
    f"{side}_cost_per_{unit}{tier}": None for side in ("input", "output") for unit in _UNITS for tier in _TIERS
}


def error(message: str, kind: str, code: int, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": str(code)}}


def _prices(row: Row) -> dict[str, Any]:
    """A price of litellm_params shows in model_info too, and an output price then is 0 where none is given."""
    given = {name: value for name, value in row.litellm_params.items() if name in _COST_MAP}
    return {"output_cost_per_token": 0, **given} if given else {}


def listed(row: Row) -> dict[str, Any]:
    """One row of GET /model/info: api_base in clear, the key absent."""
    params = {name: value for name, value in row.litellm_params.items() if name not in _SECRET_PARAMS}
    stored = {"id": row.id, "db_model": row.db_model, "member_auto_router": False, **row.model_info}
    own = {"access_via_team_ids": [], "direct_access": True, "key": row.model}
    if row.db_model:
        own["blocked"] = row.blocked
    own["pricing_overrides"] = [name for name in row.litellm_params if name in _COST_MAP]
    provider = {"litellm_provider": row.model.partition("/")[0], "max_tokens": None, "supports_vision": None}
    return {
        "model_name": row.model_name,
        "litellm_params": {**_PARAM_DEFAULTS, **params},
        "model_info": {**_COST_MAP, **provider, **own, **stored, **_prices(row)},
    }


def _sealed(value: Any) -> Any:
    """The database keeps every text parameter encrypted and a write answers with that, not with the text."""
    return (
        base64.urlsafe_b64encode(hashlib.sha256(value.encode()).digest()).decode() if isinstance(value, str) else value
    )


def stored(row: Row, info_id: str) -> dict[str, Any]:
    """What a create, an update or a block answers with. `info_id`: a random one unless the caller sent the id."""
    sealed = {name: _sealed(value) for name, value in row.litellm_params.items()}
    return {
        "created_at": row.created_at,
        "model_id": row.id,
        "model_name": row.model_name,
        "litellm_params": {**_PARAM_DEFAULTS, **sealed},
        "model_info": {"id": info_id, "db_model": False, "member_auto_router": False, **row.model_info},
        "created_by": "default_user_id",
        "updated_by": "default_user_id",
        "updated_at": row.updated_at,
    }


def model_list(names: list[str]) -> dict[str, Any]:
    rows = [
        {"id": name, "object": "model", "created": 1677610602, "owned_by": "openai", "mode": "chat"} for name in names
    ]
    return {"data": rows, "object": "list"}


def health(healthy: list[dict[str, Any]], unhealthy: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "healthy_endpoints": healthy,
        "unhealthy_endpoints": unhealthy,
        "healthy_count": len(healthy),
        "unhealthy_count": len(unhealthy),
    }
