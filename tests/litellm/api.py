"""A plain client for the contract tests: what is sent and what came back, nothing in between."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Answer:
    status: int
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def message(self) -> str:
        """LiteLLM's sentence, in whichever of its error shapes it came."""
        body = self.body
        return str(body["error"]["message"] if "error" in body else body["detail"])


@dataclass(frozen=True)
class Api:
    base_url: str
    key: str | None

    def ask(self, method: str, path: str, body: Any = None, raw: bytes | None = None) -> Answer:
        """One request; every status is an answer, only a broken connection raises."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(f"{self.base_url}{path}", data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return Answer(answer.status, answer.read().decode())
        except urllib.error.HTTPError as problem:
            return Answer(problem.code, problem.read().decode())

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, body: Any) -> Answer:
        return self.ask("POST", path, body)

    def patch(self, row_id: str, body: Any) -> Answer:
        return self.ask("PATCH", f"/model/{row_id}/update", body)

    def rows(self) -> dict[str, Any]:
        """The deployments that this replica lists, by id."""
        answer = self.get("/model/info")
        assert answer.status == 200, answer
        return {row["model_info"]["id"]: row for row in answer.body["data"]}

    def health(self, row_id: str) -> Answer:
        return self.get(f"/health?model_id={row_id}")

    def test_connection(self, row_id: str) -> Answer:
        return self.post("/health/test_connection", {"model_info": {"id": row_id}, "litellm_params": {}})

    def complete(self, model: str) -> Answer:
        messages = [{"role": "user", "content": "Say hello."}]
        return self.post("/v1/chat/completions", {"model": model, "messages": messages})


def eventually(holds: Callable[[], bool], timeout_s: float = 30.0) -> bool:
    """Whether `holds` becomes true before the time is over."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
