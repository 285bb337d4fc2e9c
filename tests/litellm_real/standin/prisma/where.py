"""Prisma's `where` filters and `data` assignments, on plain dicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Columns = dict[str, Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equals": lambda have, want: bool(have == want),
    "not": lambda have, want: bool(have != want),
    "in": lambda have, want: have in want,
    "notIn": lambda have, want: have not in want,
    "not_in": lambda have, want: have not in want,
    "contains": lambda have, want: have is not None and want in have,
    "startswith": lambda have, want: str(have or "").startswith(want),
    "startsWith": lambda have, want: str(have or "").startswith(want),
    "has": lambda have, want: want in (have or []),
    "gt": lambda have, want: have is not None and have > want,
    "gte": lambda have, want: have is not None and have >= want,
    "lt": lambda have, want: have is not None and have < want,
    "lte": lambda have, want: have is not None and have <= want,
}
_CHANGES = {"increment", "decrement", "set", "push"}


class Json:
    """Prisma's wrapper for a JSON column value."""

    def __init__(self, data: Any) -> None:
        self.data = data


def matches(row: Columns, where: Columns | None) -> bool:
    return all(_holds(row, name, wanted) for name, wanted in (where or {}).items())


def _holds(row: Columns, name: str, wanted: Any) -> bool:
    alternatives = wanted if isinstance(wanted, list) else [wanted]
    if name == "AND":
        return all(matches(row, each) for each in alternatives)
    if name == "OR":
        return any(matches(row, each) for each in alternatives)
    if name == "NOT":
        return not any(matches(row, each) for each in alternatives)
    if isinstance(wanted, dict):
        return all(_COMPARE[operator](row.get(name), operand) for operator, operand in wanted.items() if operator in _COMPARE)
    return bool(row.get(name) == wanted)


def assign(row: Columns, data: Columns) -> None:
    """Write `data` into `row`, with Prisma's atomic changes ({"increment": 1}, …) carried out."""
    for name, value in data.items():
        if isinstance(value, dict) and value and set(value) <= _CHANGES:
            for operator, operand in value.items():
                row[name] = _changed(row.get(name), operator, operand)
        else:
            row[name] = _column(value)


def _changed(have: Any, operator: str, operand: Any) -> Any:
    if operator == "increment":
        return (have or 0) + operand
    if operator == "decrement":
        return (have or 0) - operand
    if operator == "push":
        return (have or []) + (operand if isinstance(operand, list) else [operand])
    return operand


def _column(value: Any) -> Any:
    """What a column holds: JSON text becomes the object it spells, as Prisma's Json columns do."""
    if isinstance(value, Json):
        return value.data
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
