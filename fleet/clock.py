"""The one clock: the database's. A worker whose own clock is wrong changes nothing by it."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.models import FloatField, Func

_SQLITE = "((julianday('now') - 2440587.5) * 86400.0)"
_POSTGRESQL = "extract(epoch from clock_timestamp())::float8"

AHEAD_S = 5.0  # what is stored as further ahead than this was written before the clock was set back


class Seconds(Func):
    """The database's time in float seconds since the epoch, for use inside one statement."""

    template = _POSTGRESQL
    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return super().as_sql(compiler, connection, template=_SQLITE, **extra)


def now() -> float:
    """The database's time, float seconds since the epoch."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_SQLITE if connection.vendor == 'sqlite' else _POSTGRESQL}")
        return float(cursor.fetchone()[0])
