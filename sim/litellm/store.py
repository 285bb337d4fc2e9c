"""What LiteLLM keeps: rows in one store, and per replica the rows that its router holds.

Measured on LiteLLM 1.108.7 with several proxies on one database (tests/litellm holds both to it):
a replica reloads the whole store every `poll_s`, and at once after a create, an update, a block or an unblock of its
own; a delete only drops that one row from its router. A row whose model has no provider that LiteLLM knows is saved
and never reaches a router; one that had a good model before keeps serving with that.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

PROVIDERS = frozenset(
    (
        "hosted_vllm",
        "openai",
        "anthropic",
        "azure",
        "azure_ai",
        "bedrock",
        "cohere",
        "deepseek",
        "fireworks_ai",
        "gemini",
        "groq",
        "huggingface",
        "mistral",
        "ollama",
        "openrouter",
        "perplexity",
        "replicate",
        "together_ai",
        "vertex_ai",
        "vllm",
        "xai",
    )
)
#: LiteLLM drops these from model_info: a price counts only in litellm_params.
_PRICES = ("_cost_per_", "cost_per_")


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat()


@dataclass(frozen=True)
class Row:
    """One deployment as it is stored, secrets included. `model_info` is without the id."""

    id: str
    model_name: str
    litellm_params: dict[str, Any]
    model_info: dict[str, Any] = field(default_factory=dict)
    db_model: bool = True
    blocked: bool = False
    created_at: str = field(default_factory=_now)
    updated_at: str = field(default_factory=_now)

    @property
    def model(self) -> str:
        """The provider model, "hosted_vllm/qwen3-8b"."""
        return str(self.litellm_params.get("model", ""))

    @property
    def api_base(self) -> str:
        return str(self.litellm_params.get("api_base", ""))

    @property
    def routable(self) -> bool:
        provider, slash, rest = self.model.partition("/")
        return bool(slash and rest) and provider in PROVIDERS


def without_nulls(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def kept_info(given: dict[str, Any]) -> dict[str, Any]:
    """What LiteLLM keeps of a model_info: not the nulls, not the prices, not its own fields."""
    own = {"id", "db_model", "blocked", "member_auto_router"}
    return {
        name: value
        for name, value in without_nulls(given).items()
        if name not in own and not any(price in name for price in _PRICES)
    }


class Store:
    """The database behind any number of replicas."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.virtual_keys: dict[str, list[str]] = {}  #: key → the model names it may see; none = all
        self.connected = True

    def merge(self, row_id: str, change: dict[str, Any]) -> Row:
        """PATCH: given keys replace, others stay, a null changes nothing. KeyError when the id is not stored."""
        row = self.rows[row_id]
        self.rows[row_id] = replace(
            row,
            model_name=change.get("model_name") or row.model_name,
            litellm_params={**row.litellm_params, **without_nulls(change.get("litellm_params") or {})},
            model_info={**row.model_info, **kept_info(change.get("model_info") or {})},
            updated_at=_now(),
        )
        return self.rows[row_id]

    def set_blocked(self, row_id: str, blocked: bool) -> Row:
        self.rows[row_id] = replace(self.rows[row_id], blocked=blocked, updated_at=_now())
        return self.rows[row_id]


class Router:
    """The rows that one replica routes to and lists: its config file's, then the store's as it last read them."""

    def __init__(self, store: Store, config_rows: Iterable[Row] = ()) -> None:
        self._store = store
        self.rows: dict[str, Row] = {row.id: replace(row, db_model=False) for row in config_rows}
        self.reload()

    def reload(self) -> None:
        """A changed row moves to the end, as the real router removes it and adds it again."""
        for row in self._store.rows.values():
            if row.routable and self.rows.get(row.id) != row:
                self.rows.pop(row.id, None)
                self.rows[row.id] = row
        gone = [row.id for row in self.rows.values() if row.db_model and row.id not in self._store.rows]
        for row_id in gone:
            del self.rows[row_id]

    def named(self, model_name: str) -> list[Row]:
        return [row for row in self.rows.values() if row.model_name == model_name]
