"""What a source is: a name, the struct of its body, the config key of its interval, and one function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    `fleet.timing.intervals()`'s config (see there)."""

    name: str
    body: type[msgspec.Struct]
    interval_key: str
    fetch: Callable[[View], msgspec.Struct]
