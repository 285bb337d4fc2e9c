"""LiteLLM's management API, as typed calls.

Every error is one sentence (`message`) that holds no secret. No body is ever logged: `POST /model/new` answers with
the api_key in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from litellm_sync import http
from litellm_sync.opinion import opinion, opinions, tested, unknown
from litellm_sync.parsing import Unparsable, parse, real, text
from litellm_sync.rows import deployments
from litellm_sync.sentences import hide, one_line, said, secrets_in
from reconcile.inputs import Deployment, Opinion

LISTING_CAP = 64 * 1024 * 1024  # a row is 8 KB: room for 8,000
CHECK_S = 60.0  # LiteLLM's own limit for the check of one row, where the row has none
SETTING_S = 10.0
BACKGROUND_S = 300.0  # its interval of background checks, where its configuration names none
_NOT_LIVE = "not live in this pod"
_GONE = "not found in db"
_MOVED = "it redirects elsewhere; write the address that it redirects to into litellm.base_url"
_KEY_HINT = "litellm.master_key must be LiteLLM's own master key"


class LiteLLMError(Exception):
    """`message` is shown to an admin as it is. `permanent`: sending the same again cannot help."""

    permanent = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Refused(LiteLLMError):
    """LiteLLM said no, and nothing was written, or (permanent) wrote a row that it cannot serve."""

    def __init__(self, message: str, status: int, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.permanent = permanent


class Unsure(LiteLLMError):
    """LiteLLM answered, and the answer does not say whether it wrote: a 5xx, or a 200 that is not its JSON."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unanswered(LiteLLMError):
    """No answer, or not a whole one. A write may have happened."""


class Unreached(Unanswered):
    """No connection: nothing was sent, so nothing was written."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """`connected`: LiteLLM has its database, so writes last. `version` is "" where LiteLLM does not tell."""

    connected: bool
    version: str = ""
    detail: str = ""


class _Ready(msgspec.Struct):
    status: Any = None
    db: Any = None
    litellm_version: Any = None


class _Setting(msgspec.Struct):
    field_value: Any = None


class LiteLLM:
    """`base_url` as configured, `master_key` the admin's, `timeout_s` for each request as a whole; no error shows the
    master key or one of `secrets`."""

    def __init__(self, base_url: str, master_key: str, timeout_s: float, *, secrets: Iterable[str] = ()) -> None:
        self._base_url = base_url.strip().rstrip("/")
        self._master_key = master_key
        self._timeout_s = timeout_s
        self._secrets = [master_key, *secrets]

    def readiness(self) -> Readiness:
        """Whether LiteLLM can write, and which version it is. Raises Refused when the key is not an admin's,
        Unanswered, Unsure."""
        answer = self._ask("GET", "/health/readiness/details")
        if answer.status == 404:  # before there were details, the open endpoint told all
            answer = self._ask("GET", "/health/readiness")
        if answer.status not in (200, 503):
            raise self._failure(answer)
        return self._readiness(answer)

    def deployments(self) -> tuple[Deployment, ...]:
        """Every deployment that LiteLLM lists. Raises LiteLLMError: a list that cannot be trusted is no list."""
        answer = self._ask("GET", "/model/info", cap=LISTING_CAP)
        if answer.status != 200:
            raise self._failure(answer)
        try:
            return deployments(answer.body)
        except Unparsable as failure:
            raise Unsure(f"LiteLLM answers /model/info with {failure.message}", answer.status) from None

    def create(self, body: dict[str, Any]) -> None:
        """POST /model/new. Raises Unsure when the row may exist (finish with `patch` of the same id), Refused,
        Unanswered."""
        self._write("POST", "/model/new", body)

    def patch(self, identifier: str, body: dict[str, Any]) -> None:
        """PATCH /model/{id}/update: merges into the row. An unknown id is Refused with status 404."""
        self._write("PATCH", f"/model/{quote(identifier, safe='')}/update", _with_id(identifier, body))

    def delete(self, identifier: str) -> None:
        """POST /model/delete. An id that LiteLLM does not have is deleted already."""
        try:
            self._write("POST", "/model/delete", {"id": identifier})
        except Refused as refusal:
            if refusal.status != 400 or _GONE not in refusal.message:
                raise

    def block(self, identifier: str) -> None:
        """The row stays and gets no traffic."""
        self._write("POST", "/model/block", {"model_id": identifier})

    def unblock(self, identifier: str) -> None:
        self._write("POST", "/model/unblock", {"model_id": identifier})

    def health(self, identifier: str, *, api_base: str | None, asked_at: float) -> Opinion:
        """LiteLLM's own check of one row, made now: a real completion. Never raises LiteLLMError: what is no answer is
        "unknown". `api_base` is the row's, for versions whose answer carries no ids."""
        try:
            answer = self._ask("GET", f"/health?model_id={quote(identifier, safe='')}")
        except Unanswered as failure:
            return unknown(identifier, asked_at, failure.message)
        return opinion(answer, identifier, api_base, asked_at, self._secrets)

    def test(self, identifier: str, *, api_base: str | None, asked_at: float) -> Opinion:
        """`health`, for a LiteLLM that answers that from its cache: a test of the row's connection, made now. Takes up
        to CHECK_S, whatever the row's own limit."""
        body = {"model_info": {"id": identifier}, "litellm_params": {}}
        try:
            answer = self._ask("POST", "/health/test_connection", body, timeout_s=CHECK_S + 5)
        except Unanswered as failure:
            return unknown(identifier, asked_at, failure.message)
        return tested(answer, identifier, api_base, asked_at, self._secrets)

    def health_of_all(
        self, rows: Mapping[str, str | None] | None, *, asked_at: float, timeout_s: float
    ) -> tuple[Opinion, ...]:
        """LiteLLM's own check of every row: a real completion on each, unless it answers from its cache. `rows` is
        id → api_base of those that it lists, None where they are not known. A row that the answer does not clearly
        tell about has no opinion in it. Raises LiteLLMError."""
        answer = self._ask("GET", "/health", cap=LISTING_CAP, timeout_s=timeout_s)
        if answer.status not in (200, 503):
            raise self._failure(answer)
        try:
            return opinions(answer, rows, asked_at, self._secrets)
        except Unparsable as failure:
            raise Unsure(f"LiteLLM answers /health with {failure.message}", answer.status) from None

    def cached_s(self) -> float:
        """How old what `GET /health` answers may be: 0 unless LiteLLM checks its rows in the background and answers,
        also about one row, from what the last round found. The answer itself does not say. Raises LiteLLMError."""
        if self._setting("background_health_checks") not in (True, "true", "True"):
            return 0.0
        interval_s = real(self._setting("health_check_interval")) or BACKGROUND_S
        return interval_s + 2 * CHECK_S  # a round shows when it has ended, and stays until the next one has

    def _setting(self, name: str) -> Any:
        """A general setting of LiteLLM's; None where it has none of that name, and in versions that do not tell."""
        answer = self._ask("GET", f"/config/field/info?field_name={name}", timeout_s=min(self._timeout_s, SETTING_S))
        if answer.status in (400, 404):
            return None
        if answer.status != 200:
            raise self._failure(answer)
        try:
            return parse(answer.body, _Setting).field_value
        except Unparsable as failure:
            raise Unsure(f"LiteLLM answers 200 with {failure.message}", 200) from None

    def _write(self, method: str, path: str, body: dict[str, Any]) -> None:
        answer = self._ask(method, path, body)
        if answer.status != 200:
            raise self._failure(answer, body)
        try:
            parse(answer.body, dict[str, Any])
        except Unparsable as failure:
            raise Unsure(f"LiteLLM answers 200 with {failure.message}", 200) from None

    def _ask(
        self, method: str, path: str, body: Any = None, *, cap: int = http.CAP, timeout_s: float | None = None
    ) -> http.Answer:
        key, limit_s = {"Authorization": f"Bearer {self._master_key}"}, timeout_s or self._timeout_s
        try:
            return http.ask(method, self._base_url + path, timeout_s=limit_s, headers=key, json=body, cap=cap)
        except http.NoAnswer as failure:
            kind = Unreached if failure.kind in ("refused", "unreachable", "tls") else Unanswered
            raise kind(f"LiteLLM at {failure.message}") from None

    def _failure(self, answer: http.Answer, body: Any = None) -> Refused | Unsure:
        """The error that an answer other than the good one is."""
        message = said(answer.status, answer.body, [*self._secrets, *secrets_in(body)])
        if answer.redirects:
            return Refused(f"LiteLLM answers {answer.status}: {_MOVED}", answer.status)
        if answer.status in (401, 403):
            return Refused(f"{message} ({_KEY_HINT})", answer.status)
        if _NOT_LIVE in message:
            return Refused(message, answer.status, permanent=True)
        if 400 <= answer.status < 500:
            return Refused(message, answer.status)
        return Unsure(message, answer.status)

    def _readiness(self, answer: http.Answer) -> Readiness:
        try:
            said_so = parse(answer.body, _Ready)
        except Unparsable as failure:
            raise Unsure(f"LiteLLM answers {answer.status} with {failure.message}", answer.status) from None
        connected = answer.status == 200 and said_so.db == "connected"
        detail = "" if connected else one_line(f"its database is {text(said_so.db) or 'not mentioned'}", self._secrets)
        version = hide(text(said_so.litellm_version) or "", self._secrets)
        return Readiness(connected=connected, version=version, detail=detail)


def _with_id(identifier: str, body: dict[str, Any]) -> dict[str, Any]:
    """LiteLLM gives a model_info without an id a random one; merged, it would be the row's."""
    if "model_info" not in body:
        return body
    return {**body, "model_info": {**body["model_info"], "id": identifier}}
