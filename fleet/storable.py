"""What others wrote, as every database can keep it: PostgreSQL takes no NUL in text, and none in JSON."""

from __future__ import annotations

from typing import Any

from litellm_sync.sentences import printable


def storable(value: Any) -> Any:
    """The same JSON value, its texts (and the names in it) without control characters."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {storable(name): storable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner) for inner in value]
    return value
