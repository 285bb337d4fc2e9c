"""`GET /health?model_id=`, read: LiteLLM's own check of one row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from litellm_sync.http import Answer
from litellm_sync.parsing import Unparsable, parse, text
from litellm_sync.sentences import one_line, said
from reconcile.identity import same_address
from reconcile.inputs import Opinion

State = Literal["up", "down", "unknown"]


class _Endpoint(msgspec.Struct):
    model_id: Any = None
    api_base: Any = None
    error: Any = None


class _Health(msgspec.Struct):
    healthy_endpoints: list[_Endpoint]
    unhealthy_endpoints: list[_Endpoint]


def opinion(answer: Answer, identifier: str, api_base: str | None, asked_at: float, secrets: Iterable[str]) -> Opinion:
    """What the answer says of the row `identifier`. 503 with the usual body is an answer; whatever is not an answer
    about this row is "unknown", never "down"."""
    if answer.status not in (200, 503):
        return unknown(identifier, asked_at, said(answer.status, answer.body, secrets))
    try:
        health = parse(answer.body, _Health)
    except Unparsable as failure:
        detail = f"LiteLLM answers {answer.status} with {failure.message}"
        return unknown(identifier, asked_at, one_line(detail, secrets))
    return _read(health, identifier, api_base, asked_at, secrets)


def unknown(identifier: str, asked_at: float, detail: str) -> Opinion:
    return Opinion(id=identifier, state="unknown", asked_at=asked_at, detail=detail)


def _read(health: _Health, identifier: str, api_base: str | None, asked_at: float, secrets: Iterable[str]) -> Opinion:
    healthy = _of(health.healthy_endpoints, identifier, api_base)
    unhealthy = _of(health.unhealthy_endpoints, identifier, api_base)
    if bool(healthy) == bool(unhealthy):
        where = "both lists" if healthy else "neither list"
        return unknown(identifier, asked_at, f"LiteLLM has the row in {where} of its health check")
    found = (healthy or unhealthy)[0]
    state: State = "up" if healthy else "down"
    detail = "" if healthy else one_line(text(found.error) or "", secrets)
    return Opinion(id=identifier, state=state, asked_at=asked_at, api_base=text(found.api_base), detail=detail)


def _of(endpoints: list[_Endpoint], identifier: str, api_base: str | None) -> list[_Endpoint]:
    """The row's entries: by id, and where entries have none (older versions), by address."""
    return [
        each
        for each in endpoints
        if (each.model_id == identifier if text(each.model_id) else same_address(text(each.api_base), api_base))
    ]
