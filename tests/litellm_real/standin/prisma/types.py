"""Names that LiteLLM imports for typing only."""

from __future__ import annotations

from typing import Any


class DatasourceOverride(dict[str, Any]):
    pass


class HttpConfig(dict[str, Any]):
    pass


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Any
