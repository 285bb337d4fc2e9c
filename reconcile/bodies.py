"""The LiteLLM row that a key should have, its fingerprint, and how a listed row differs from it.

Secrets stand as `{"secret": <keyed hash>}`: the fingerprint changes with them, and nothing here can leak them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from reconcile.identity import Key, deployment_id, provider_url, same_address
from reconcile.inputs import Deployment, Model, Server
from reconcile.probe import served_name

HEALTH_CHECK_TIMEOUT_S = 10  # LiteLLM's own default lets one dead row hold a check for a minute
NOT_IN_FINGERPRINT = ("id", "llmao_body", "llmao_instance")
NOT_IN_ADOPTED = ("model_info.llmao_body", "model_info.asf_api_base")  # the stamp of an adopted row is all it got


def canonical(value: Any) -> bytes:
    """One spelling of a JSON value: sorted names, no blanks."""
    return msgspec.json.encode(value, order="sorted")


def fingerprint(body: dict[str, Any]) -> str:
    """16 hex digits over the whole body, without its own fingerprint, the instance and the id."""
    info = {name: value for name, value in body["model_info"].items() if name not in NOT_IN_FINGERPRINT}
    return hashlib.sha256(canonical({**body, "model_info": info})).hexdigest()[:16]


def of_box(key: Key, server: Server, model: Model, url: str, *, served_id: str, instance: str) -> dict[str, Any]:
    """The body of `POST /model/new` for a self-hosted key dialled at `url`, serving `served_id`."""
    provider = str(model.params["model"]).partition("/")[0]
    params = {
        **model.params,
        "model": f"{provider}/{served_id or served_name(model)}",
        "api_base": f"{url}/v1",
        "api_key": {"secret": server.key_hash},
    }
    return _body(key, model, params, url, instance)


def of_provider(key: Key, model: Model) -> dict[str, Any]:
    """The body for a commercial row; `api_base` stays as configured."""
    return _body(key, model, dict(model.params), provider_url(str(model.params["api_base"])), "")


def _body(key: Key, model: Model, params: dict[str, Any], url: str, instance: str) -> dict[str, Any]:
    info: dict[str, Any] = {
        "mode": "chat",
        "health_check_timeout": HEALTH_CHECK_TIMEOUT_S,
        **model.info,
        "id": deployment_id(key),
        "self_hosted": model.self_hosted,
        "llmao_key": key.url,
        "asf_api_base": url,
        "llmao_params": sorted(params),
    }
    if instance:
        info["llmao_instance"] = instance
    body = {"model_name": key.model, "litellm_params": params, "model_info": info}
    info["llmao_body"] = fingerprint(body)
    return body


def only(body: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """The part of a body that has these fields: what an adopted row is sent, so that the rest stays as it was."""
    part: dict[str, Any] = {}
    for field in fields:
        section, _, name = field.partition(".")
        if name:
            part.setdefault(section, {})[name] = body[section][name]
        else:
            part[section] = body[section]
    return part


def with_id(body: dict[str, Any], identifier: str) -> dict[str, Any]:
    """The same body for another row of the key."""
    return {**body, "model_info": {**body["model_info"], "id": identifier}}


def shown(row: Deployment) -> dict[str, Any]:
    """What a row says of itself in the fields that we own, spelled as in a body."""
    return {
        "model_name": row.name,
        "litellm_params.model": row.model,
        "litellm_params.api_base": row.api_base,
        "model_info.llmao_key": row.llmao_key,
        "model_info.asf_api_base": row.asf_api_base,
        "model_info.llmao_body": row.llmao_body,
    }


def wanted_fields(body: dict[str, Any]) -> dict[str, Any]:
    """The same fields as `shown`, as the body has them."""
    params, info = body["litellm_params"], body["model_info"]
    return {
        "model_name": body["model_name"],
        "litellm_params.model": params["model"],
        "litellm_params.api_base": params["api_base"],
        "model_info.llmao_key": info["llmao_key"],
        "model_info.asf_api_base": info["asf_api_base"],
        "model_info.llmao_body": info["llmao_body"],
    }


def differing(row: Deployment, body: dict[str, Any]) -> tuple[str, ...]:
    """The fields we own in which the row is not the body; addresses compare in normal form.

    A row without a fingerprint is an adopted one: it does not differ by that, nor by an address it was never given.
    """
    have, want = shown(row), wanted_fields(body)
    fields = [name for name in want if not _same(name, have[name], want[name])]
    if row.llmao_body is None:
        fields = [name for name in fields if name not in NOT_IN_ADOPTED or have[name] is not None]
    return tuple(fields)


def _same(name: str, have: Any, want: Any) -> bool:
    if name.endswith("api_base"):
        return same_address(have, want)
    return bool(have == want)
