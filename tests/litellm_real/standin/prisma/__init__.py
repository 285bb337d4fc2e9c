"""A stand-in for the `prisma` client package, so that the *unmodified* LiteLLM proxy runs without Prisma's engine.

LiteLLM keeps its DB-backed models in Postgres through Prisma, whose query engine is a binary that
cannot be fetched everywhere. Put this folder's parent first on PYTHONPATH and the real proxy keeps
its tables in one SQLite file instead ($PRISMA_STANDIN_DB), shared by every proxy process that names it.
Only storage is replaced: routes, authorisation, router and health checks are LiteLLM's own.
"""

from __future__ import annotations

import base64
import collections
import os
from typing import Any, Self

from prisma import engine, errors, fields, models, types  # noqa: F401  # LiteLLM reads them as attributes
from prisma.store import Store
from prisma.table import Table
from prisma.where import Json as Json


class Base64(str):
    """Prisma's wrapper for a Bytes column value."""

    @classmethod
    def encode(cls, raw: bytes) -> Base64:  # type: ignore[override]  # Prisma's own signature
        return cls(base64.b64encode(raw).decode())

    def decode(self) -> bytes:
        return base64.b64decode(str(self))


def register(*_: Any, **__: Any) -> None:
    return None


class _Recorder:
    """Remembers the calls made on one table of a batch."""

    def __init__(self, table: str, calls: list[tuple[str, str, Any, Any]]) -> None:
        self._table, self._calls = table, calls

    def __getattr__(self, operation: str) -> Any:
        return lambda *args, **kwargs: self._calls.append((self._table, operation, args, kwargs))


class _Batch:
    def __init__(self, client: Prisma) -> None:
        self._client = client
        self._calls: list[tuple[str, str, Any, Any]] = []

    def __getattr__(self, table: str) -> _Recorder:
        return _Recorder(table, self._calls)

    async def commit(self) -> None:
        for table, operation, args, kwargs in self._calls:
            await getattr(getattr(self._client, table), operation)(*args, **kwargs)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            await self.commit()


class _Transaction:
    def __init__(self, client: Prisma) -> None:
        self._client = client

    async def __aenter__(self) -> Prisma:
        return self._client

    async def __aexit__(self, *_: Any) -> None:
        return None


class Prisma:
    def __init__(self, *_: Any, **__: Any) -> None:
        self._store = Store(os.environ["PRISMA_STANDIN_DB"])
        self._connected = False

    async def connect(self, *_: Any, **__: Any) -> None:
        self._connected = True

    async def disconnect(self, *_: Any, **__: Any) -> None:
        self._connected = False

    def is_connected(self) -> bool:
        return self._connected

    async def query_raw(self, query: str, *_: Any, **__: Any) -> list[dict[str, Any]]:
        if "to_regclass" in query:
            return [{"present": False}]  # no spend tables: LiteLLM then leaves its reporting views alone
        return [{"?column?": 1}] if "SELECT 1" in query else []

    async def query_first(self, query: str, *args: Any, **_: Any) -> dict[str, Any] | None:
        """LiteLLM looks a virtual key up by one joined SELECT; nothing else that we use asks in SQL."""
        if 'FROM "LiteLLM_VerificationToken"' not in query:
            return None
        row = self._store.get("litellm_verificationtoken", str(args[0]))
        return collections.defaultdict(lambda: None, row) if row else None

    async def execute_raw(self, *_: Any, **__: Any) -> int:
        return 0

    def batch_(self) -> _Batch:
        return _Batch(self)

    def tx(self, *_: Any, **__: Any) -> _Transaction:
        return _Transaction(self)

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_"):
            raise AttributeError(name)
        return Table(self._store, name)


Client = Prisma
