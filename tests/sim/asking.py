"""A plain HTTP client for the tests of the simulated world."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


def ask(
    url: str,
    key: str | None = None,
    *,
    method: str = "GET",
    body: Any = None,
    timeout_s: float = 10.0,
    query: dict[str, str] | None = None,
) -> Answer:
    """One request; every status is an answer. URLError (an OSError) when nothing answers."""
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    data = None if body is None else json.dumps(body).encode()
    full = f"{url}?{urllib.parse.urlencode(query)}" if query else url
    request = urllib.request.Request(full, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return Answer(answer.status, answer.read().decode())
    except urllib.error.HTTPError as problem:
        return Answer(problem.code, problem.read().decode())
