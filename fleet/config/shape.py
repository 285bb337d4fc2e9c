"""The configuration as the program sees it: frozen, checked, with the defaults that docs/configuration.md lists.

Durations are seconds. Hosts are canonical. A `Secret` has to be asked for its value.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from fleet.config.secret import Secret, secret_hash
from reconcile.settings import Permission, PolicyKind, Settings

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, kw_only=True)
class HostRow:
    """One row of `fleet.hosts`: [model, listen_port, label, public_port]."""

    host: str
    model: str
    listen_port: int
    label: str = ""
    public_port: int | None = None


@dataclass(frozen=True, kw_only=True)
class Vast:
    api_key: Secret
    base_url: str = "https://console.vast.ai"
    page_wait_s: float = 1.2  # Vast answers 429 to a faster walk through its pages


@dataclass(frozen=True, kw_only=True)
class RunPod:
    api_key: Secret
    base_url: str = "https://api.runpod.io"


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """`key` None: the box protocol is off. `vast`, `runpod` None: not configured, no such source. Servers are
    (host, listen port)."""

    vllm_api_salt: Secret
    key: Secret | None = None
    hosts: tuple[HostRow, ...] = ()
    selfhost_api_key: Secret | None = None
    legacy_servers: frozenset[tuple[str, int]] = frozenset()
    open_servers: frozenset[tuple[str, int]] = frozenset()
    allow_private_hosts: bool = False
    vast: Vast | None = None
    runpod: RunPod | None = None
    listing_interval_s: float = 60
    health_interval_s: float = 15
    skew_interval_s: float = 60
    litellm_health_interval_s: float = 14400
    sample_interval_s: float = 15
    tick_interval_s: float = 30
    health_timeout_s: float = 3
    health_grace_s: float = 1800
    health_fail_threshold: int = 3
    history_keep_s: float = 300


@dataclass(frozen=True, kw_only=True)
class LiteLLM:
    """`base_url` has no trailing slash."""

    base_url: str
    master_key: Secret
    request_timeout_s: float = 30
    settle_s: float = 75


@dataclass(frozen=True, kw_only=True)
class Policy:
    mode: Literal["act", "observe"] = "act"
    permissions: dict[PolicyKind, Permission] = field(default_factory=dict)
    keep_last_row: bool = False
    opinion_wait_s: float = 300
    actions_per_pass: int = 20


@dataclass(frozen=True, kw_only=True)
class Vllm:
    """How a box starts a model: `model` is the weights id; None: not declared."""

    model: str
    args: tuple[str, ...] = ()
    max_model_len: int | None = None
    gpu_memory_utilization: float | None = None
    vram_gb: float | None = None
    disk_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One row of models.yaml. `params` is litellm_params with `Secret`s in it, and `pricing` in LiteLLM's spelling;
    `vllm` is there when self-hosted. `info` is model_info; `shown` the display fields as written.
    """

    name: str
    params: dict[str, Any]
    self_hosted: bool
    info: dict[str, Any] = field(default_factory=dict)
    vllm: Vllm | None = None
    shown: dict[str, Any] = field(default_factory=dict)

    @property
    def served_name(self) -> str:
        """What vLLM is told to call the model: what follows the first slash of `litellm_params.model`."""
        return str(self.params["model"]).partition("/")[2]

    @property
    def provider(self) -> str:
        """A commercial row's provider, for its name on pages; "" when self-hosted."""
        if self.self_hosted:
            return ""
        return str(self.shown.get("provider") or str(self.params["model"]).partition("/")[0])


@dataclass(frozen=True, kw_only=True)
class Config:
    """config.yaml and models.yaml, read and found right."""

    fleet: Fleet
    litellm: LiteLLM
    models: tuple[ModelRow, ...]
    policy: Policy = Policy()
    trusted_proxies: tuple[Network, ...] = ()

    @property
    def salt(self) -> str:
        return self.fleet.vllm_api_salt.value()

    @property
    def hash(self) -> str:
        """64 hex digits over every value; secrets take part as keyed hashes, so the hash gives none away."""
        text = json.dumps(_plain(self, self.salt), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def self_hosted(self, name: str) -> ModelRow | None:
        """The self-hosted row of a model name."""
        return next((row for row in self.models if row.self_hosted and row.name == name), None)

    def settings(self) -> Settings:
        """The numbers and the policy that one pass of the decision reads."""
        return Settings(
            health_fail_threshold=self.fleet.health_fail_threshold,
            health_grace_s=self.fleet.health_grace_s,
            settle_s=self.litellm.settle_s,
            opinion_wait_s=self.policy.opinion_wait_s,
            history_keep_s=self.fleet.history_keep_s,
            litellm_health_interval_s=self.fleet.litellm_health_interval_s,
            actions_per_pass=self.policy.actions_per_pass,
            keep_last_row=self.policy.keep_last_row,
            mode=self.policy.mode,
            policy=dict(self.policy.permissions),
        )


def _plain(value: Any, salt: str) -> Any:
    """JSON of a configuration value."""
    if isinstance(value, Secret):
        return {"secret": secret_hash(salt, value.value())}
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name), salt) for each in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(inner, salt) for key, inner in value.items()}
    if isinstance(value, frozenset):
        return sorted(_plain(inner, salt) for inner in value)
    if isinstance(value, tuple | list):
        return [_plain(inner, salt) for inner in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
