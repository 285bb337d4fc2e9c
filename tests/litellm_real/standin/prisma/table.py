"""The operations that LiteLLM calls on one table."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from prisma.errors import UniqueViolationError
from prisma.models import Row
from prisma.store import Store
from prisma.where import Columns, assign, matches

_PRIMARY_KEYS = {
    "litellm_proxymodeltable": "model_id",
    "litellm_teamtable": "team_id",
    "litellm_usertable": "user_id",
    "litellm_verificationtoken": "token",
    "litellm_config": "param_name",
    "litellm_budgettable": "budget_id",
    "litellm_organizationtable": "organization_id",
}


class Table:
    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._key = _PRIMARY_KEYS.get(name, "id")

    def _rows(self, where: Columns | None) -> list[Columns]:
        return [row for row in self._store.rows(self._name) if matches(row, where)]

    def _put(self, row: Columns) -> Row:
        row["updated_at"] = dt.datetime.now(dt.UTC)
        self._store.put(self._name, str(row[self._key]), row)
        return Row(row)

    async def create(self, data: Columns, **_: Any) -> Row:
        row: Columns = {"created_at": dt.datetime.now(dt.UTC)}
        assign(row, data)
        row.setdefault(self._key, str(uuid.uuid4()))
        if self._store.get(self._name, str(row[self._key])) is not None:
            message = f"Unique constraint failed on the fields: (`{self._key}`)"
            raise UniqueViolationError({"user_facing_error": {"message": message}})
        return self._put(row)

    async def create_many(self, data: list[Columns], skip_duplicates: bool = False, **_: Any) -> int:
        for each in data:
            try:
                await self.create(each)
            except UniqueViolationError:
                if not skip_duplicates:
                    raise
        return len(data)

    async def find_many(
        self, where: Columns | None = None, take: int | None = None, skip: int | None = None, **_: Any
    ) -> list[Row]:
        rows = self._rows(where)[skip or 0 :]
        return [Row(row) for row in (rows[:take] if take else rows)]

    async def find_first(self, where: Columns | None = None, **_: Any) -> Row | None:
        rows = self._rows(where)
        return Row(rows[0]) if rows else None

    find_unique = find_first

    async def update(self, data: Columns, where: Columns | None = None, **_: Any) -> Row | None:
        rows = self._rows(where)
        if not rows:
            return None
        assign(rows[0], data)
        return self._put(rows[0])

    async def update_many(self, data: Columns, where: Columns | None = None, **_: Any) -> int:
        rows = self._rows(where)
        for row in rows:
            assign(row, data)
            self._put(row)
        return len(rows)

    async def upsert(self, where: Columns, data: Columns, **_: Any) -> Row | None:
        if self._rows(where):
            return await self.update(data["update"], where)
        return await self.create(data["create"])

    async def delete(self, where: Columns | None = None, **_: Any) -> Row | None:
        rows = self._rows(where)
        if not rows:
            return None
        self._store.drop(self._name, str(rows[0][self._key]))
        return Row(rows[0])

    async def delete_many(self, where: Columns | None = None, **_: Any) -> int:
        rows = self._rows(where)
        for row in rows:
            self._store.drop(self._name, str(row[self._key]))
        return len(rows)

    async def count(self, where: Columns | None = None, **_: Any) -> int:
        return len(self._rows(where))

    async def group_by(self, *_: Any, **__: Any) -> list[Any]:
        return []

    query_raw = group_by

    async def query_first(self, *_: Any, **__: Any) -> None:
        return None
