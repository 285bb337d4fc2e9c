"""`GET /health`, of one row or of all, and the test of a row's connection, read: LiteLLM's own checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from litellm_sync.http import Answer
from litellm_sync.parsing import Unparsable, parse, text
from litellm_sync.sentences import one_line, said
from reconcile.identity import provider_url, same_address
from reconcile.inputs import Opinion

State = Literal["up", "down", "unknown"]
_TESTED: dict[str, State] = {"success": "up", "error": "down"}


class _Endpoint(msgspec.Struct):
    model_id: Any = None
    api_base: Any = None
    error: Any = None


class _Health(msgspec.Struct):
    healthy_endpoints: list[_Endpoint]
    unhealthy_endpoints: list[_Endpoint]


class _Test(msgspec.Struct):
    status: Any
    result: _Endpoint


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


def opinions(
    answer: Answer, rows: Mapping[str, str | None] | None, asked_at: float, secrets: Iterable[str]
) -> tuple[Opinion, ...]:
    """What the whole list says, in the order of ids: one opinion for each row that it tells about. It says nothing of
    a row that is in neither list or in both, nor of one that is named by an address that another row has as well.

    `rows`: id → api_base of the rows that LiteLLM lists; None where they are not known, then only ids count. Raises
    Unparsable, also for a check that names none of them: then it is no information."""
    health = parse(answer.body, _Health)
    if rows and not health.healthy_endpoints and not health.unhealthy_endpoints:
        raise Unparsable("shape", f"a health check of none of its {len(rows)} rows")
    told: dict[str, list[tuple[State, _Endpoint]]] = {}
    for identifier, state, endpoint in _named(health, rows):
        told.setdefault(identifier, []).append((state, endpoint))
    return tuple(
        _opinion(identifier, *said_of[0], asked_at, secrets)
        for identifier, said_of in sorted(told.items())
        if len({state for state, _ in said_of}) == 1
    )


def _named(health: _Health, rows: Mapping[str, str | None] | None) -> Iterator[tuple[str, State, _Endpoint]]:
    """Every entry with the id of the row that it is about."""
    addresses = _by_address(rows or {})
    lists: tuple[tuple[State, list[_Endpoint]], ...] = (
        ("up", health.healthy_endpoints),
        ("down", health.unhealthy_endpoints),
    )
    for state, endpoints in lists:
        for endpoint in endpoints:
            identifier = text(endpoint.model_id)
            if identifier is None:
                sharing = addresses.get(provider_url(text(endpoint.api_base) or ""), [])
                identifier = sharing[0] if len(sharing) == 1 else None
            if identifier and (rows is None or identifier in rows):
                yield identifier, state, endpoint


def _by_address(rows: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Address in normal form → ids of the rows there."""
    found: dict[str, list[str]] = {}
    for identifier, api_base in rows.items():
        if api_base:
            found.setdefault(provider_url(api_base), []).append(identifier)
    return found


def tested(answer: Answer, identifier: str, api_base: str | None, asked_at: float, secrets: Iterable[str]) -> Opinion:
    """What `POST /health/test_connection` says of the row `identifier`. It does not repeat the id, so an answer of
    another address than the row's, or of none, is "unknown": it tested something else."""
    if answer.status != 200:
        return unknown(identifier, asked_at, said(answer.status, answer.body, secrets))
    try:
        test = parse(answer.body, _Test)
    except Unparsable as failure:
        return unknown(identifier, asked_at, one_line(f"LiteLLM answers 200 with {failure.message}", secrets))
    address, state = text(test.result.api_base), _TESTED.get(text(test.status) or "")
    if state is None or address is None or (api_base and not same_address(address, api_base)):
        return unknown(identifier, asked_at, "LiteLLM's answer does not say that it tested this row")
    return _opinion(identifier, state, test.result, asked_at, secrets)


def _opinion(identifier: str, state: State, told: _Endpoint, asked_at: float, secrets: Iterable[str]) -> Opinion:
    detail = "" if state == "up" else one_line(text(told.error) or "", secrets)
    return Opinion(id=identifier, state=state, asked_at=asked_at, api_base=text(told.api_base), detail=detail)


def unknown(identifier: str, asked_at: float, detail: str) -> Opinion:
    return Opinion(id=identifier, state="unknown", asked_at=asked_at, detail=detail)


def _read(health: _Health, identifier: str, api_base: str | None, asked_at: float, secrets: Iterable[str]) -> Opinion:
    healthy = _of(health.healthy_endpoints, identifier, api_base)
    unhealthy = _of(health.unhealthy_endpoints, identifier, api_base)
    if bool(healthy) == bool(unhealthy):
        where = "both lists" if healthy else "neither list"
        return unknown(identifier, asked_at, f"LiteLLM has the row in {where} of its health check")
    return _opinion(identifier, "up" if healthy else "down", (healthy or unhealthy)[0], asked_at, secrets)


def _of(endpoints: list[_Endpoint], identifier: str, api_base: str | None) -> list[_Endpoint]:
    """The row's entries: by id, and where entries have none (older versions), by address."""
    return [
        each
        for each in endpoints
        if (each.model_id == identifier if text(each.model_id) else same_address(text(each.api_base), api_base))
    ]
