"""The way to the broker for web, commands and tasks: each try is short, and after a failure there is none for a while.

The worker and beat keep connections of their own, which wait as long as Celery needs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from celery import current_app
from kombu import Connection, Producer, pools
from kombu.exceptions import OperationalError

PATIENCE_S = 1.0
REST_S = 5.0


class Resting(Exception):
    """The broker failed a moment ago; it is not asked again yet."""


class Breaker:
    """Lets every thread try until one fails; then none for `rest_s`, and then one alone until it succeeds."""

    def __init__(self, rest_s: float = REST_S) -> None:
        self.rest_s = rest_s
        self._lock = Lock()
        self._failed = False
        self._until = 0.0

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Around one try. Raises Resting instead of letting it happen; what the try raises passes on."""
        self._enter()
        try:
            yield
        except OperationalError:
            self._note(failed=True)
            raise
        self._note(failed=False)

    def _enter(self) -> None:
        with self._lock:
            if time.monotonic() < self._until:
                raise Resting
            if self._failed:  # the others go on resting while this one tries
                self._until = time.monotonic() + self.rest_s

    def _note(self, *, failed: bool) -> None:
        with self._lock:
            self._failed = failed
            self._until = time.monotonic() + self.rest_s if failed else 0.0


breaker = Breaker()


def connection(patience_s: float = PATIENCE_S) -> Connection:
    """A connection, not opened yet, on which connecting and each answer take at most `patience_s`; one try, no more."""
    options = {"socket_connect_timeout": patience_s, "socket_timeout": patience_s, "max_retries": 0}
    return current_app.connection_for_write(transport_options=options)


@contextmanager
def producer() -> Iterator[Producer]:
    """To publish with, from this process's pool. Raises Resting, or OperationalError when the broker is away."""
    with pools.producers[connection()].acquire(block=True) as found, breaker.trying():
        yield found
