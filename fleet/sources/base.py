"""What a source is: a name, the struct of its body, the config key of its interval, and one function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from reconcile.view import View


class SourceError(Exception):
    """A fetch that failed. `message` is shown to an admin as it is; it holds no secret."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotConfigured(Exception):
    """The provider has no API key (or its section is absent): there is no such source."""


@dataclass(frozen=True)
class SourceKind:
    """`fetch(view)` returns a complete reading of type `body`; it raises SourceError or NotConfigured. It takes its
    targets from the view of the last pass and never touches history. `interval_key` names the interval in
    `fleet.timing.intervals()`'s config (see there).

    A source that cannot be read all at once has `join`: `fetch` returns what is new, and `join(stored, new)` the
    reading that then counts; `stored` is None at first. `parts` are slow readings of the same source, begun at most
    once per interval, each under a claim of its own: the source itself is read on while one of them runs. A part is
    made with `part_of`, the source's name, and `busy_s`, how long it runs at most."""

    name: str
    body: type[msgspec.Struct]
    interval_key: str
    fetch: Callable[[View], msgspec.Struct]
    join: Callable[[Any, Any], msgspec.Struct] | None = None
    parts: tuple[SourceKind, ...] = ()
    part_of: str = ""
    busy_s: float | None = None

    @property
    def source(self) -> str:
        """The source whose reading this is."""
        return self.part_of or self.name
