"""What the decision reads: one frozen struct per source body, and the settings.

Times are float seconds since the epoch on the database's clock; durations are seconds; hosts are canonical
(`identity.canonical_host`). No body holds a secret: a secret stands as `{"secret": <keyed hash>}`.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from reconcile.identity import Key
from reconcile.settings import Settings

Body = TypeVar("Body")
Origin = Literal["config", "approval", "admin", "discovered", "none"]
Kind = Literal["add_litellm", "update_litellm", "delete_litellm", "prune_orphan", "block", "unblock"]
Answer = Literal["pending", "ok", "refused", "unknown", "unsent"]


class Source(msgspec.Struct, Generic[Body], frozen=True, kw_only=True):
    """One source as it stands: the last good reading, and the last failure beside it.

    `body` and `taken_at` are None when nothing was ever read; `failed_at` is None when the newest fetch was good.
    """

    interval_s: float
    body: Body | None = None
    taken_at: float | None = None
    failed_at: float | None = None
    error: str = ""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One vLLM server that an admin wants: a host, the port it listens on, the model it serves."""

    host: str
    listen_port: int
    model: str
    label: str = ""
    pinned_port: int | None = None
    origin: Origin = "config"
    key_hash: str = ""  # keyed hash of the bearer key the box and LiteLLM are given
    open_allowed: bool = False  # listed in fleet.open_servers
    legacy: bool = False  # listed in fleet.legacy_servers: runs with the shared key


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One row of models.yaml.

    `params` is its litellm_params with secrets hashed, and pricing spelled as LiteLLM's cost fields; `info` what goes
    into model_info as configured; `weights` is vllm.model; `shown` the display fields.
    """

    name: str
    self_hosted: bool
    params: dict[str, Any]
    info: dict[str, Any] = {}
    weights: str = ""
    provider: str = ""
    max_model_len: int | None = None
    context_window: int | None = None
    shown: dict[str, Any] = {}


class HostLabel(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    label: Literal["approved", "reboot_requested", "retired"]
    at: float
    by: str


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """The fact that somebody approved what they saw: it counts while an action with this digest is planned."""

    digest: str
    kind: Kind
    key: Key
    at: float
    by: str
    seen: dict[str, Any] = {}  # {"deployment_id", "before", "after"} as it was shown to them


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """An approved server that config took over with its host."""

    host: str
    listen_port: int
    model: str
    at: float


class Intended(msgspec.Struct, frozen=True, kw_only=True):
    servers: tuple[Server, ...] = ()
    models: tuple[Model, ...] = ()
    labels: tuple[HostLabel, ...] = ()
    approvals: tuple[Approval, ...] = ()
    discovered_key_hashes: dict[str, str] = {}  # "host:listen_port" of inventory hosts nobody intended -> key hash
    drained: tuple[Key, ...] = ()
    ended: tuple[Ended, ...] = ()  # of the last day
    listings: tuple[str, ...] = ()  # providers with an API key: one that was never read yet is not "not configured"
    settings: Settings = Settings()  # of the configuration these rows come from, so that both are last good together


class ServedServer(msgspec.Struct, frozen=True, kw_only=True):
    listen_port: int
    model: str


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of a box's config: when it first and last got a 200 (a 304 does not count)."""

    revision: str
    first_at: float
    last_at: float
    servers: tuple[ServedServer, ...] = ()


class Box(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    seen_at: float
    peer: str = ""
    served: tuple[Served, ...] = ()
    peer_changed_at: float | None = None
    previous_peer: str = ""


class UnknownBox(msgspec.Struct, frozen=True, kw_only=True):
    """A host nobody intended that presented the fleet key."""

    host: str
    first_at: float
    last_at: float
    count: int
    peer: str = ""


class Boxes(msgspec.Struct, frozen=True, kw_only=True):
    boxes: tuple[Box, ...] = ()
    unknown: tuple[UnknownBox, ...] = ()


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One rented instance. `ports` maps listen to public port, empty unless the provider maps them now.

    `running` says that the container runs (not that anything serves); `status` is the provider's own word.
    """

    id: str
    host: str  # "" while the provider has not given one
    running: bool
    status: str
    ports: dict[int, int] = {}
    label: str = ""
    gpu: str = ""
    price_usd_h: float | None = None
    started_at: float | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A *complete* listing of one provider; an incomplete one is a failed fetch and never gets here."""

    instances: tuple[Instance, ...] = ()


class ListedModel(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    root: str = ""
    parent: str | None = None
    max_model_len: int | None = None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What one server answered. Facts only: whether that is ok is `probe.judge`'s to say.

    `base` is the canonical URL, `url` the dialable URL that was dialled. A status is None when that request got no
    HTTP answer; `failure` is then its kind. `wrong_key_status` is the answer to a deliberately wrong key, with the
    time it was asked; both are carried over while the answer is still believed.
    """

    base: str
    url: str
    at: float
    health_status: int | None = None
    models_status: int | None = None
    failure: Literal["", "refused", "reset", "timeout", "unreachable", "not_json", "page", "too_large", "redirect"] = ""
    listed: tuple[ListedModel, ...] = ()
    latency_ms: float | None = None
    wrong_key_status: int | None = None
    wrong_key_at: float | None = None
    key_hash: str = ""  # keyed hash of the key that was sent; "" when that is not known
    last_answered_at: float | None = None  # when /health and /v1/models were both last answered 200 at this url


class Probes(msgspec.Struct, frozen=True, kw_only=True):
    probes: tuple[Probe, ...] = ()


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """One row of LiteLLM's `GET /model/info`, only the fields that we own or show."""

    id: str
    name: str
    model: str
    api_base: str | None = None
    db_model: bool = True
    blocked: bool = False
    llmao_key: str | None = None
    asf_api_base: str | None = None
    llmao_body: str | None = None
    llmao_params: tuple[str, ...] = ()
    llmao_instance: str | None = None


class Deployments(msgspec.Struct, frozen=True, kw_only=True):
    deployments: tuple[Deployment, ...] = ()


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """LiteLLM's own check of one row. `unknown` = in neither list, 404, timeout or error: no information."""

    id: str
    state: Literal["up", "down", "unknown"]
    asked_at: float
    api_base: str | None = None
    detail: str = ""  # one line


class Opinions(msgspec.Struct, frozen=True, kw_only=True):
    """The newest opinion of each row. `whole_at` is when LiteLLM was last asked about all rows at once and answered."""

    opinions: tuple[Opinion, ...] = ()
    whole_at: float | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The newest write of one deployment id, as the executor noted it before and after.

    `pending` and `unknown` (timeout, 5xx) may or may not have happened, `unsent` (no connection) did not; `refusals`
    counts refused writes in a row.
    """

    deployment_id: str
    kind: Kind
    key: Key
    digest: str
    cause: str
    after: dict[str, Any] | None
    sent_at: float
    answer: Answer = "pending"
    answered_at: float | None = None
    detail: str = ""  # LiteLLM's answer in one line, no secret in it
    refusals: int = 0


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    attempts: tuple[Attempt, ...] = ()


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Load and capacity of one server, `name` = host:listen_port; None is unknown, never 0."""

    name: str
    at: float
    kv_tokens: int | None = None
    running: float | None = None
    waiting: float | None = None
    prompt_tokens: float | None = None
    generation_tokens: float | None = None


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    samples: tuple[Sample, ...] = ()


class Snapshots(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of every source. `listings` has an entry per *configured* provider only.

    `other_configuration_at` is when another process last renewed the lease with another configuration.
    """

    intended: Source[Intended]
    boxes: Source[Boxes]
    vllm: Source[Probes]
    deployments: Source[Deployments]
    litellm_health: Source[Opinions]
    attempts: Source[Attempts]
    listings: dict[str, Source[Listing]] = {}
    samples: Source[Samples] | None = None
    other_configuration_at: float | None = None
