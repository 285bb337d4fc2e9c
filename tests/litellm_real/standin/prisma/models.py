"""Rows as LiteLLM reads them: attributes, iteration in pairs, and pydantic's dump methods."""

from __future__ import annotations

import json as _json
from collections.abc import Iterator, KeysView
from typing import Any


class Row:
    def __init__(self, columns: dict[str, Any]) -> None:
        self.__dict__["_columns"] = columns

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._columns.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._columns[name] = value

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._columns.items())

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._columns.get(name, default)

    def keys(self) -> KeysView[str]:
        keys: KeysView[str] = self._columns.keys()
        return keys

    def model_dump(self, **_: Any) -> Any:
        return {**self._columns}

    dict = model_dump

    def model_dump_json(self, **_: Any) -> str:
        return _json.dumps(self._columns, default=str)

    json = model_dump_json


def __getattr__(name: str) -> type[Row]:
    """Any model name that LiteLLM imports (LiteLLM_TeamTable, …) is the one Row."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Row
