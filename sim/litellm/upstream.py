"""Real completions on a deployment: what LiteLLM's health check and its router do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

from sim.litellm.store import Row

HEALTH_TIMEOUT_S = 60.0  #: LiteLLM's, where the row has no model_info.health_check_timeout
_PROMPT = {"messages": [{"role": "user", "content": "What's 1 + 1?"}], "max_tokens": 16}
_TRACE = (
    "\nstack trace: Traceback (most recent call last):\n"
    '  File "/app/litellm/llms/custom_httpx/llm_http_handler.py", line 555, in _make_common_async_call\n'
    "    response = await async_httpx_client.post(\n"
    "               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
    '  File "/app/litellm/llms/custom_httpx/http_handler.py", line 888, in post\n'
    "    await _raise_masked_async_error(e, stream)\n"
)
_ERRORS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    422: "BadRequestError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
}
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "throttling_error"}


class Failure(Exception):
    """The upstream did not answer with a completion.

    `status` is LiteLLM's exception_status: the upstream's own, 500 when not reached, 200 when it was no JSON.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text

    @property
    def code(self) -> int:
        """The status that a caller of /v1/chat/completions gets."""
        return 500 if self.status == 200 else self.status

    @property
    def kind(self) -> str:
        return _KINDS.get(self.code, "invalid_request_error" if self.code < 500 else "internal_server_error")


def _failure(row: Row, status: int, text: str) -> Failure:
    name = _ERRORS.get(status, "APIError")
    twice = "" if name == "BadRequestError" else f"{name}: "
    provider = row.model.partition("/")[0].capitalize()
    return Failure(status, f"litellm.{name}: {twice}{provider}Exception - {text}")


async def complete(session: aiohttp.ClientSession, row: Row, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """The upstream's completion for `body`, with the row's key and model. Raises Failure; never another error."""
    sent = {**body, "model": row.model.partition("/")[2]}
    headers = {"Authorization": f"Bearer {row.litellm_params.get('api_key', 'fake-api-key')}"}
    url = f"{row.api_base.rstrip('/')}/chat/completions"
    limit = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with session.post(url, json=sent, headers=headers, timeout=limit, allow_redirects=False) as answer:
            return _completion(row, answer.status, await answer.text(errors="replace"))
    except TimeoutError:
        raise Failure(408, "Timeout exceeded") from None
    except (aiohttp.ClientError, OSError) as problem:
        raise _failure(row, 500, str(problem)) from None


def _completion(row: Row, status: int, text: str) -> dict[str, Any]:
    if status != 200:
        raise _failure(row, status, text)
    try:
        body = json.loads(text)
    except ValueError:
        raise _failure(row, 200, f"Unable to get json response, Original Response: {text[:200]}") from None
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        raise Failure(500, "litellm.APIError: LiteLLM: provider returned 'choices' that is not a list")
    return body


def _endpoint(row: Row) -> dict[str, Any]:
    return {"api_base": row.api_base, "model": row.model, "model_id": row.id}


async def check(
    session: aiohttp.ClientSession, row: Row, timeout_s: float | None = None
) -> tuple[bool, dict[str, Any]]:
    """One deployment's health: (up, its entry in healthy_endpoints or unhealthy_endpoints). `timeout_s`: the row's own
    where none is given."""
    timeout_s = timeout_s or float(row.model_info.get("health_check_timeout") or HEALTH_TIMEOUT_S)
    try:
        await complete(session, row, _PROMPT, timeout_s)
    except Failure as failure:
        trace = "" if failure.status == 408 else _TRACE
        return False, {**_endpoint(row), "error": failure.text + trace, "exception_status": failure.status}
    return True, _endpoint(row)


async def check_all(session: aiohttp.ClientSession, rows: list[Row]) -> tuple[list[Any], list[Any]]:
    checked = await asyncio.gather(*(check(session, row) for row in rows))
    return [entry for up, entry in checked if up], [entry for up, entry in checked if not up]
