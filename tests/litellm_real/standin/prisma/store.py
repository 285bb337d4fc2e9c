"""Every table's rows as JSON in one SQLite file; safe for several proxy processes."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from typing import Any

from prisma.where import Columns


def _as_text(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _load(body: str) -> Columns:
    row: Columns = json.loads(body)
    for name in ("created_at", "updated_at"):
        if isinstance(row.get(name), str):
            row[name] = dt.datetime.fromisoformat(row[name])
    return row


class Store:
    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS row (tbl TEXT, key TEXT, body TEXT, PRIMARY KEY (tbl, key))")

    def rows(self, table: str) -> list[Columns]:
        found = self._db.execute("SELECT body FROM row WHERE tbl = ? ORDER BY rowid", (table,))
        return [_load(body) for (body,) in found]

    def get(self, table: str, key: str) -> Columns | None:
        found = self._db.execute("SELECT body FROM row WHERE tbl = ? AND key = ?", (table, key)).fetchone()
        return _load(found[0]) if found else None

    def put(self, table: str, key: str, row: Columns) -> None:
        self._db.execute(
            "INSERT INTO row VALUES (?, ?, ?) ON CONFLICT (tbl, key) DO UPDATE SET body = excluded.body",
            (table, key, json.dumps(row, default=_as_text)),
        )

    def drop(self, table: str, key: str) -> None:
        self._db.execute("DELETE FROM row WHERE tbl = ? AND key = ?", (table, key))
