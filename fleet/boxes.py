"""GET /vllm/config: a box that holds the fleet key asks what to run, and is told with keys and all."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from functools import partial
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.http import parse_etags
from django.views.decorators.csrf import csrf_exempt

from fleet import assignment, claims, clock, config, contacts, keys, seldom, wake
from fleet.assignment import Assigned
from fleet.claims import Asker, Unclear
from fleet.config import Config, allowed_host

log = logging.getLogger(__name__)
OPTIONAL = ("gpu_memory_utilization", "max_model_len", "vram_gb", "disk_gb")


@csrf_exempt  # no cookie takes part, and what is no GET gets its own answer below
def vllm_config(request: HttpRequest) -> HttpResponse:
    """200 with the assignment, 304 when the box has it, else an error `{"error": {"message", "type", "code"}}`."""
    if request.method != "GET":
        refusal = _refused(405, "invalid_request_error", "method_not_allowed", "Only GET is possible here.")
        refusal["Allow"] = "GET"
        return refusal
    configuration = config.last_good()
    if configuration is None:
        why = "llmao has no valid configuration. On its machine, `manage.py check` says what is wrong."
        return _refused(503, "server_error", "invalid_configuration", why)
    if configuration.fleet.key is None:
        why = "The box protocol is off: set fleet.key in llmao's config.yaml."
        return _refused(503, "server_error", "not_configured", why)
    if not _presents(request, configuration.fleet.key.value()):
        return _unauthorized(request)
    try:
        return _answer(request, configuration, claims.asker(request, configuration.trusted_proxies))
    except Unclear as unclear:
        _log_refusal(400, "", request.META.get("REMOTE_ADDR", ""))
        return _refused(400, "invalid_request_error", "invalid_host", unclear.message)


def body_of(configuration: Config, host: str, assigned: list[Assigned]) -> dict[str, Any]:
    """What a host is told to run; `revision` is over everything but the keys."""
    servers = [_server(configuration, row) for row in assigned]
    text = json.dumps({"host": host, "servers": servers}, sort_keys=True, separators=(",", ":"))
    for server, row in zip(servers, assigned, strict=True):
        server["api_key"] = keys.server_key(configuration, row.host, row.listen_port)
    return {"host": host, "revision": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}", "servers": servers}


def _server(configuration: Config, row: Assigned) -> dict[str, Any]:
    model = configuration.self_hosted(row.model)
    if model is None or model.vllm is None:
        raise LookupError(f"{row.model} is no self-hosted model")
    declared = {name: getattr(model.vllm, name) for name in OPTIONAL}
    return {
        "name": row.model,
        "model": model.vllm.model,
        "served_model_name": model.served_name,
        "host": row.host,
        "port": row.listen_port,
        "args": list(model.vllm.args),
        **{name: _number(value) for name, value in declared.items() if value is not None},
    }


def _number(value: float) -> float:
    """9 and not 9.0, as it was written."""
    return int(value) if value == int(value) else value


def _answer(request: HttpRequest, configuration: Config, asker: Asker) -> HttpResponse:
    assigned = assignment.of_host(configuration, asker.host)
    if wrong := assignment.wrong_with(configuration, assigned):
        log.error("box_assignment_invalid host=%s why=%s", asker.host, "; ".join(wrong))
        return _refused(503, "server_error", "invalid_assignment", f"{'. '.join(wrong)}.")
    if not assigned:
        return _unknown(configuration, asker)
    body = body_of(configuration, asker.host, assigned)
    contact, news = contacts.seen(asker.host, asker.peer, known=True)
    servers = [_as_served(configuration, row) for row in assigned]
    if _has(request, body["revision"]) and contacts.has(contact, body["revision"], servers):
        answer = HttpResponse(status=304)
    else:
        news = contacts.served(contact, body["revision"], servers) or news
        _log_claim(asker)
        answer = JsonResponse(body)
    if news:
        _publish()
    answer["ETag"] = f'"{body["revision"]}"'
    answer["Cache-Control"] = "no-store"
    return answer


def _as_served(configuration: Config, row: Assigned) -> dict[str, Any]:
    """What is remembered of a server that a box was given. The revision says nothing of keys; this tells when a box
    has to be given a new one although its revision stayed."""
    key = keys.server_key_hash(configuration, row.host, row.listen_port)
    return {"listen_port": row.listen_port, "model": row.model, "key": key}


def _unknown(configuration: Config, asker: Asker) -> HttpResponse:
    """404; the host is remembered when it is one that could be approved."""
    _log_refusal(404, asker.host, asker.peer)
    if not allowed_host(configuration, asker.host):
        why = (
            f"{asker.host} is no public address, so it cannot be approved: send the box's public one in"
            f" {claims.HEADER}, or set fleet.allow_private_hosts in llmao's config.yaml."
        )
        return _refused(404, "not_found_error", "unknown_host", why)
    _, news = contacts.seen(asker.host, asker.peer, known=False)
    if news:
        _publish()
    why = (
        f"Nothing is assigned to {asker.host}. An admin of llmao sees this request and can approve the box; ask again."
    )
    return _refused(404, "not_found_error", "unknown_host", why)


def _presents(request: HttpRequest, key: str) -> bool:
    """Compared in constant time, whatever was sent."""
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    same = hmac.compare_digest(presented.strip().encode("utf-8", "replace"), key.encode())
    return same and scheme.lower() == "bearer"


def _unauthorized(request: HttpRequest) -> HttpResponse:
    _log_refusal(401, "", request.META.get("REMOTE_ADDR", ""))
    why = "Send the fleet key: Authorization: Bearer <fleet.key of llmao's config.yaml>."
    refusal = _refused(401, "authentication_error", "invalid_fleet_key", why)
    refusal["WWW-Authenticate"] = "Bearer"
    return refusal


def _has(request: HttpRequest, revision: str) -> bool:
    etags = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in etags or any(etag.removeprefix("W/") == f'"{revision}"' for etag in etags)


def _log_claim(asker: Asker) -> None:
    """Whoever holds the fleet key gets the keys of the host it names: the log says who did."""
    if asker.claims:
        log.info("box_claim host=%s peer=%s status=200", asker.host, asker.peer or "unknown")


def _log_refusal(status: int, host: str, peer: str) -> None:
    """Once an hour for each host and peer: a box asks every few seconds, for as long as nobody helps it."""
    if seldom.due(str(status), host, peer):
        log.warning("box_refused host=%s peer=%s status=%s", host or "unknown", peer or "unknown", status)


def _publish() -> None:
    transaction.on_commit(partial(wake.send, "fleet.fetch", "a box asked", "boxes", clock.now()))


def _refused(status: int, kind: str, code: str, message: str) -> HttpResponse:
    refusal = JsonResponse({"error": {"message": message, "type": kind, "code": code}}, status=status)
    refusal["Cache-Control"] = "no-store"
    return refusal
