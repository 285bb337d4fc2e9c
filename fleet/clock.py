"""The one clock: the database's. Workers whose own clock is wrong change nothing by it."""

from __future__ import annotations

from django.db import connection

_SECONDS = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "extract(epoch from clock_timestamp())",
}


def seconds_sql() -> str:
    """SQL for the database's time in seconds since the epoch, for use inside one statement."""
    return _SECONDS[connection.vendor]


def now() -> float:
    """The database's time, float seconds since the epoch."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {seconds_sql()}")
        return float(cursor.fetchone()[0])
