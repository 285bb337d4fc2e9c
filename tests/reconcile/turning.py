"""The same reading with its rows in another order."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace


def turned(value: Any) -> Any:
    """Every tuple of rows reversed and every mapping told from its end; lists, which are values in bodies, stay."""
    if isinstance(value, msgspec.Struct):
        return replace(value, **{name: turned(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, tuple):
        return tuple(turned(each) for each in reversed(value))
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return value
