"""Carries out a plan's ready actions, one after the other. It needs nothing but the actions and asks for no reason."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from litellm_sync.bodies import UnknownSecret, hashes_in, reveal
from litellm_sync.client import LiteLLM, LiteLLMError, Refused, Unanswered, Unreached, Unsure
from litellm_sync.sentences import hide
from reconcile.view import Action

log = logging.getLogger(__name__)
Stopped = Literal["", "lease_lost", "unanswered"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`ok` it is written; `refused` and `unsent` it is not; `unknown` it may be. `detail` is LiteLLM's answer in one
    line, without secrets; `permanent` says that the same write cannot succeed."""

    answer: Literal["ok", "refused", "unknown", "unsent"]
    detail: str = ""
    permanent: bool = False


class Unrecorded(Exception):
    """The action cannot be noted; the text says why, in a word for the log."""


class Recorder(Protocol):
    """Where writes are noted: `begin` is stored before LiteLLM is asked, `finish` after it answered. `begin` raises
    Unrecorded for an action that cannot be noted: it is not sent, the others are."""

    def begin(self, action: Action) -> None: ...

    def finish(self, action: Action, outcome: Outcome) -> None: ...


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """How many actions were begun, and why the batch ended before its end: "" when it did not."""

    sent: int
    stopped: Stopped = ""


class _LeaseLost(Exception):
    """Somebody else may write now."""


def carry_out(
    actions: Iterable[Action],
    client: LiteLLM,
    secrets: Mapping[str, str],
    recorder: Recorder,
    *,
    may_write: Callable[[], bool],
    limit: int,
    patience_s: float = math.inf,
) -> Batch:
    """Send at most `limit` actions of status ready, in the given order. `secrets` maps the hashes in bodies to their
    values; `may_write` renews the lease and is asked before each write. It stops when the lease is lost, at the first
    write that got no answer, and after `patience_s`: what is left is decided anew, on younger evidence."""
    hands = _Hands(client, secrets, may_write)
    sent, began = 0, time.monotonic()
    for action in (each for each in actions if each.status == "ready"):
        if sent == limit or (sent and time.monotonic() - began > patience_s):
            break
        if not may_write():
            return Batch(sent=sent, stopped="lease_lost")
        try:
            recorder.begin(action)
        except Unrecorded as why:  # sent all the same, it would be sent again at every wake-up
            log.warning("litellm_write_not_sent kind=%s id=%r reason=%s", action.kind, action.deployment_id, why)
            continue
        outcome, stopped = hands.write(action)
        recorder.finish(action, outcome)
        sent += 1
        _log(action, outcome)
        if stopped:
            return Batch(sent=sent, stopped=stopped)
    return Batch(sent=sent)


class _Hands:
    def __init__(self, client: LiteLLM, secrets: Mapping[str, str], may_write: Callable[[], bool]) -> None:
        self._client = client
        self._secrets = secrets
        self._may_write = may_write

    def write(self, action: Action) -> tuple[Outcome, Stopped]:
        """Send one action and say what became of it. No LiteLLMError leaves here."""
        try:
            return Outcome(answer="ok", detail=self._clean(action, self._send(action))), ""
        except UnknownSecret as failure:
            return Outcome(answer="refused", detail=failure.message), ""
        except _LeaseLost:
            return Outcome(answer="unknown", detail="not finished: another process decides now"), "lease_lost"
        except Refused as failure:
            detail = self._clean(action, failure.message)
            return Outcome(answer="refused", detail=detail, permanent=failure.permanent), ""
        except Unreached as failure:
            return Outcome(answer="unsent", detail=self._clean(action, failure.message)), "unanswered"
        except LiteLLMError as failure:
            stopped: Stopped = "unanswered" if isinstance(failure, Unanswered) else ""
            return Outcome(answer="unknown", detail=self._clean(action, failure.message)), stopped

    def _clean(self, action: Action, detail: str) -> str:
        return hide(detail, [self._secrets[each] for each in hashes_in(action.after) if each in self._secrets])

    def _send(self, action: Action) -> str:
        identifier = action.deployment_id
        match action.kind:
            case "add_litellm":
                return self._add(action, reveal(action.after or {}, self._secrets))
            case "update_litellm":
                self._client.patch(identifier, reveal(action.after or {}, self._secrets))
            case "delete_litellm" | "prune_orphan":
                self._client.delete(identifier)
            case "block":
                self._client.block(identifier)
            case "unblock":
                self._client.unblock(identifier)
        return ""

    def _add(self, action: Action, body: dict[str, Any]) -> str:
        """A create whose answer is lost or a 5xx may have been saved: the same body, patched onto the same id, tells,
        and makes the row right where it exists."""
        if action.resume:
            if self._patched(action, body):
                return "an earlier create had been saved"
            self._still_ours()
        try:
            self._client.create(body)
        except Unsure as unsure:
            self._still_ours()
            if not self._patched(action, body):
                raise Refused(unsure.message, unsure.status) from None
            return f"saved all the same ({unsure.message})"
        return ""

    def _still_ours(self) -> None:
        if not self._may_write():
            raise _LeaseLost

    def _patched(self, action: Action, body: dict[str, Any]) -> bool:
        """False when LiteLLM has no such row."""
        try:
            self._client.patch(action.deployment_id, body)
        except Refused as refusal:
            if refusal.status == 404:
                return False
            raise
        return True


def _log(action: Action, outcome: Outcome) -> None:
    level = logging.INFO if outcome.answer == "ok" else logging.WARNING
    log.log(
        level,
        "litellm_write kind=%s name=%s id=%s answer=%s detail=%r",
        action.kind, action.name, action.deployment_id, outcome.answer, outcome.detail,
    )  # fmt: skip
