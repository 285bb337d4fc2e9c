"""LiteLLM in a living world: one store, replicas that learn of it by a poll, and every way in which a call goes wrong.

It has the calls of `litellm_sync.client.LiteLLM`, so that the real executor works on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from litellm_sync.client import Refused, Unanswered, Unreached, Unsure
from reconcile.inputs import Deployment
from tests.reconcile.living.boxes import Boxes

POLL_S = 30.0  # measured: a replica learns of another's writes within this
FAULTS = ("lost", "lost after", "unsent", "refused", "500", "500 after", "killed", "killed after")


class Killed(BaseException):
    """The worker was killed in the middle of a write; no handler of errors sees it."""


@dataclass(frozen=True)
class Row:
    """A row in the store. `params` with the api_key that LiteLLM never shows; bodies are replaced, never changed."""

    id: str
    name: str
    params: dict[str, Any]
    info: dict[str, Any]
    db_model: bool = True
    blocked: bool = False

    def listed(self) -> Deployment:
        info = self.info
        return Deployment(
            id=self.id,
            name=self.name,
            model=str(self.params.get("model", "")),
            api_base=self.params.get("api_base"),
            db_model=self.db_model,
            blocked=self.blocked,
            llmao_key=info.get("llmao_key"),
            asf_api_base=info.get("asf_api_base"),
            llmao_body=info.get("llmao_body"),
            llmao_params=tuple(info.get("llmao_params", ())),
            llmao_instance=info.get("llmao_instance"),
        )


class Proxy:
    """`now` tells the time; requests go round the replicas, `stride` apart (0: always the same one)."""

    def __init__(self, boxes: Boxes, now: Callable[[], float], replicas: int) -> None:
        self.boxes, self.now = boxes, now
        self.store: dict[str, Row] = {}
        self.seen: list[dict[str, Row]] = [{} for _ in range(replicas)]
        self.polled = [now() - POLL_S * number / replicas for number in range(replicas)]
        self.stride, self.turn = 1, 0
        self.down = self.mute = False
        self.blank: set[int] = set()  # replicas that lost their rows until their database is back
        self.refusing: set[str] = set()
        self.faults: deque[str] = deque()
        self.providers_down: set[str] = set()

    # --- replicas -------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        for number, at in enumerate(self.polled):
            due = (self.now() - at) // POLL_S
            if due >= 1:
                self.polled[number] = at + due * POLL_S
                self.seen[number] = dict(self.store)

    def _replica(self) -> dict[str, Row]:
        self._poll()
        self.turn += self.stride
        number = self.turn % len(self.seen)
        return {} if number in self.blank else self.seen[number]

    def put(self, row: Row, replica: dict[str, Row] | None = None) -> None:
        self.store[row.id] = row
        (self._replica() if replica is None else replica)[row.id] = row

    def drop(self, identifier: str) -> None:
        self.store.pop(identifier, None)
        self._replica().pop(identifier, None)

    # --- what llmao calls -----------------------------------------------------------------------------------------

    def deployments(self) -> tuple[Deployment, ...]:
        if self.down:
            raise Unreached("LiteLLM at 127.0.0.1:4000 refuses connections")
        return tuple(row.listed() for row in self._replica().values())

    def create(self, body: dict[str, Any]) -> None:
        self._write(body["model_info"]["id"], lambda: self._created(body))

    def patch(self, identifier: str, body: dict[str, Any]) -> None:
        self._write(identifier, lambda: self._patched(identifier, body))

    def delete(self, identifier: str) -> None:
        self._write(identifier, lambda: self.drop(identifier))

    def block(self, identifier: str) -> None:
        self._write(identifier, lambda: self._blocked(identifier, True))

    def unblock(self, identifier: str) -> None:
        self._write(identifier, lambda: self._blocked(identifier, False))

    def _write(self, identifier: str, do: Callable[[], None]) -> None:
        fault = self.faults.popleft() if self.faults else ""
        if self.down or fault == "unsent":
            raise Unreached("LiteLLM at 127.0.0.1:4000 refuses connections")
        if identifier in self.refusing or fault == "refused":
            raise Refused("LiteLLM answers 422: it will not have this row", 422)
        if fault in ("", "lost after", "500 after", "killed after"):
            do()
        if fault.startswith("killed"):
            raise Killed
        if fault.startswith("lost"):
            raise Unanswered("LiteLLM at 127.0.0.1:4000 did not answer within 30 s")
        if fault.startswith("500"):
            raise Unsure("LiteLLM answers 500: something went wrong", 500)

    def _created(self, body: dict[str, Any]) -> None:
        identifier = body["model_info"]["id"]
        if identifier in self.store:
            raise Unsure("LiteLLM answers 500: Failed to add model to db", 500)
        self.put(Row(identifier, body["model_name"], dict(body["litellm_params"]), dict(body["model_info"])))

    def _patched(self, identifier: str, body: dict[str, Any]) -> None:
        row = self._of_the_database(identifier)
        params = {**row.params, **body.get("litellm_params", {})}
        info = {**row.info, **body.get("model_info", {})}
        self.put(replace(row, name=body.get("model_name", row.name), params=params, info=info))

    def _blocked(self, identifier: str, blocked: bool) -> None:
        self.put(replace(self._of_the_database(identifier), blocked=blocked))

    def _of_the_database(self, identifier: str) -> Row:
        row = self.store.get(identifier)
        if row is None:
            raise Refused("LiteLLM answers 404: model not found", 404)
        if not row.db_model:
            raise Refused("LiteLLM answers 400: it is a row of the config file", 400)
        return row

    # --- health ---------------------------------------------------------------------------------------------------

    def health(self, identifier: str) -> str:
        """LiteLLM's check of one row, made now: "up", "down" or "unknown"."""
        row = None if self.down or self.mute else self._replica().get(identifier)
        if row is None:
            return "unknown"
        return "up" if self.serves(row) else "down"

    def serves(self, row: Row, *, asking: bool = True) -> bool:
        """Whether a completion on this row would be answered now, blocked or not; `asking` as in `Boxes.works`."""
        url = str(row.params.get("api_base") or "").removesuffix("/v1")
        model = str(row.params.get("model", "")).partition("/")[2]
        if ".example" in url:
            return url not in self.providers_down
        return self.boxes.works("litellm", url, row.params.get("api_key"), model, asking=asking)
