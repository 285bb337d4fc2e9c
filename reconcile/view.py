"""What a pass says: records, model roll-ups, source states, actions and items. Plain data, computed once.

Pages, commands, metrics, fetchers and the executor read these and work nothing out a second time.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from reconcile.identity import Key
from reconcile.inputs import Kind, Origin
from reconcile.settings import Permission

Lifecycle = Literal["Healthy", "Unhealthy", "Awaiting", "Loading", "Stalled", "Unknown", "Configured"]
Status = Literal["ready", "settling", "backing_off", "held", "needs_human", "parked", "observed"]
SourceState = Literal["fresh", "stale", "failed", "unread", "future"]
ProbeState = Literal["ok", "not_ok", "unreached", "open", "never", "stale", "other_url", "other_key", "not_probed"]
ModelStatus = Literal["Available", "Degraded", "Unavailable"]
Privacy = Literal["Private", "External", "Mixed", "Unknown"]

WRITES: frozenset[Status] = frozenset({"ready", "settling", "backing_off"})


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A source as this pass saw it. `failed`: the newest fetch failed and the last good reading is still fresh."""

    name: str
    state: SourceState
    interval_s: float
    taken_at: float | None = None
    failed_at: float | None = None
    error: str = ""


class InventoryView(msgspec.Struct, frozen=True, kw_only=True):
    """What the listing that places the host says of it now; `state`: listed, omitted, unread or never."""

    state: Literal["listed", "omitted", "unread", "never"]
    provider: str = ""
    instance: str = ""
    status: str = ""
    label: str = ""
    gpu: str = ""
    price_usd_h: float | None = None
    read_at: float | None = None


class ProbeView(msgspec.Struct, frozen=True, kw_only=True):
    state: ProbeState
    detail: str = ""
    at: float | None = None
    url: str = ""
    latency_ms: float | None = None
    served_id: str = ""
    max_model_len: int | None = None
    last_ok: float | None = None


class DeploymentView(msgspec.Struct, frozen=True, kw_only=True):
    """The key's row in LiteLLM. `state`: ours, unmanaged (not ours, at the key's address), config_file."""

    id: str
    api_base: str | None
    state: Literal["ours", "unmanaged", "config_file"]
    blocked: bool = False
    differing: tuple[str, ...] = ()


class OpinionView(msgspec.Struct, frozen=True, kw_only=True):
    state: Literal["up", "down", "unknown"]
    asked_at: float | None = None
    detail: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one key in this pass. `rule` is the decision-table row that decided the lifecycle."""

    key: Key
    name: str
    host: str  # "" for a commercial row
    listen_port: int | None
    model: str
    origin: Origin
    provider: str = ""
    placed: str = ""
    inventory: InventoryView | None = None
    dialable_url: str | None = None
    dialable_step: str = ""  # pinned, listing, last_known, row, canonical, provider or "" (unplaced)
    probe: ProbeView
    config_served_at: float | None = None
    deployment: DeploymentView | None = None
    litellm_health: OpinionView
    misses: int = 0
    lifecycle: Lifecycle
    skew: tuple[str, ...] = ()
    unlisted: bool = False
    label: str = ""
    drained: bool = False
    reason: str
    rule: str = ""


class ModelView(msgspec.Struct, frozen=True, kw_only=True):
    """A public model name, rolled up. `context` in tokens, `concurrency` in full-context requests; None: unknown."""

    name: str
    status: ModelStatus
    sentence: str
    privacy: Privacy
    context: int | None = None
    concurrency: int | None = None
    healthy: int = 0
    total: int = 0
    shown: dict[str, Any] = {}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A server to probe: its canonical URL and the URL to dial. The fetcher derives the key from host and port."""

    base: str
    host: str
    listen_port: int
    url: str


class View(msgspec.Struct, frozen=True, kw_only=True):
    """`targets`: what to probe; `ask`: deployment ids whose health LiteLLM should be asked for now; `refresh`:
    providers whose listing should be fetched early."""

    records: tuple[Record, ...] = ()
    models: tuple[ModelView, ...] = ()
    sources: tuple[SourceView, ...] = ()
    targets: tuple[Target, ...] = ()
    ask: tuple[str, ...] = ()
    refresh: tuple[str, ...] = ()


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One write. `before`/`after` are bodies with hashed secrets; `fields` names what changes.

    `cause` is one word for the log and for history (new, changed, revert, health, orphan, replaced, adopted);
    `resume` says that an earlier create of this id got no answer, so it is finished by a PATCH; `next_try` is when a
    backing-off write is tried again; `approved_by` who released it.
    """

    kind: Kind
    key: Key
    name: str
    deployment_id: str
    reason: str
    policy: Permission
    status: Status
    digest: str
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    fields: tuple[str, ...] = ()
    cause: str = ""
    rule: str = ""
    resume: bool = False
    next_try: float | None = None
    approved_by: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence for a person; nothing is written for it. `since` is when it began, where that is known."""

    kind: str
    name: str
    reason: str
    key: Key | None = None
    host: str = ""
    since: float | None = None
    rule: str = ""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    mode: Literal["act", "observe"] = "act"
    actions: tuple[Action, ...] = ()
    items: tuple[Item, ...] = ()
