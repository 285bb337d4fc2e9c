"""Signs of life of the worker and of beat, for /readyz."""

from __future__ import annotations

from fleet.clock import now
from fleet.models import Heartbeat


def beat(*names: str) -> None:
    """Note that these processes live."""
    at = now()
    for name in names:
        Heartbeat.objects.update_or_create(name=name, defaults={"at": at})
