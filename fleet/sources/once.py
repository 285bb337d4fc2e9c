"""What is worth one line in a log, and not one each clock."""

from __future__ import annotations

_MOST = 10_000  # what the outside sends must not fill our memory
_said: set[tuple[object, ...]] = set()


def first(*what: object) -> bool:
    """Whether this process says `what` for the first time."""
    if what in _said or len(_said) >= _MOST:
        return False
    _said.add(what)
    return True
