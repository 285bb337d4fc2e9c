"""The words in which a scenario file says what must be concluded."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from tests.reconcile.given_words import Words


class KeyExpected(Words):
    """One record. `skew` is exact; `reason` is what the sentence contains; the rest is checked where it is stated."""

    lifecycle: str
    skew: tuple[str, ...] = ()
    dialable: str | UnsetType | None = UNSET
    step: str | UnsetType = UNSET
    deployment: str | UnsetType | None = UNSET  # ours, unmanaged, config_file, or null
    row: str | UnsetType = UNSET  # the id of that row
    differing: tuple[str, ...] | UnsetType = UNSET
    misses: int | UnsetType = UNSET
    probe: str | UnsetType = UNSET
    probe_says: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET
    inventory: str | UnsetType = UNSET
    unlisted: bool = False
    litellm: str | UnsetType = UNSET
    origin: str | UnsetType = UNSET
    drained: bool | UnsetType = UNSET
    blocked: bool | UnsetType = UNSET
    rule: str | UnsetType = UNSET
    reason: str | tuple[str, ...] = ()


class ActionExpected(Words):
    kind: str
    name: str
    status: str = "ready"
    reason: str | tuple[str, ...] = ()
    fields: tuple[str, ...] | UnsetType = UNSET
    after: dict[str, Any] | UnsetType | None = UNSET
    cause: str | UnsetType = UNSET
    rule: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    next_try_in_s: float | UnsetType = UNSET
    resume: bool = False
    approved_by: str = ""
    same_digest: bool | UnsetType = UNSET  # as the same write had in the step before


class ItemExpected(Words):
    kind: str
    name: str
    reason: str | tuple[str, ...] = ()


class KeyRemembered(Words):
    misses: int | UnsetType | None = UNSET
    hits: int | UnsetType | None = UNSET
    last_ok_age_s: float | UnsetType | None = UNSET
    last_url: str | UnsetType | None = UNSET
    instance: str | UnsetType | None = UNSET
    removals: int | UnsetType = UNSET


class ModelExpected(Words):
    status: str
    privacy: str | UnsetType = UNSET
    context: int | UnsetType | None = UNSET
    sentence: str = ""


class Expected(Words):
    """`actions` is always the whole plan, in its order, so none are expected where it is left out. `keys` names every
    record, `items` every item, `targets` every probe to be made, `ask` every row to ask LiteLLM about (by name)."""

    actions: tuple[ActionExpected, ...] = ()
    keys: dict[str, KeyExpected] | UnsetType = UNSET
    items: tuple[ItemExpected, ...] | UnsetType = UNSET
    targets: dict[str, str] | UnsetType = UNSET
    ask: tuple[str, ...] | UnsetType = UNSET
    refresh: tuple[str, ...] | UnsetType = UNSET
    models: dict[str, ModelExpected] | UnsetType = UNSET
    sources: dict[str, str] | UnsetType = UNSET
    remembered: dict[str, KeyRemembered] = {}
    placed: dict[str, str] | UnsetType = UNSET
    orphan_runs: dict[str, int] = {}
