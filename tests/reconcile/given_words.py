"""The words in which a scenario file says what was read and what is remembered. A word not named here is an error."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class Words(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of a file: only the words that it names."""


class ServerWords(Words):
    server: str
    label: str = ""
    pinned_port: int | None = None
    key: str = ""  # whose key it runs with; default: its own
    open_allowed: bool = False
    legacy: bool = False
    origin: str = "config"


class ModelWords(Words):
    """A row of models.yaml; with a `base` it is commercial. `serves`: the name that a box is told to serve."""

    name: str
    serves: str = ""
    weights: str = ""
    base: str = ""
    provider: str = ""
    params: dict[str, Any] = {}
    info: dict[str, Any] = {}
    max_model_len: int | None = None
    context_window: int | None = None


class InstanceWords(Words):
    id: str
    host: str
    status: str = "running"
    ports: dict[int, int] = {}


class ListedWords(Words):
    id: str
    root: str = ""
    parent: str | None = None
    max_model_len: int | None = 32768


class ProbeWords(Words):
    """`says`: "ok", "refused", "timeout", "health 503", "lists other-model", "401", "open", "page", …: `heard` in
    fleet_of_case.py knows them all."""

    of: str
    at: str = ""
    says: str = "ok"
    age_s: float = 1
    serves: tuple[str | ListedWords, ...] = ()
    answered_s_ago: float | None = None  # when it last answered well at this address
    key: str = ""  # whose key was presented; default: the server's own of today


class RowWords(Words):
    """A row in LiteLLM. With `of` it is the one that we would write for that key, dialled `at`, `serving` an id, and
    then `changed`; without, it is somebody else's, with an `id`, a `name` and an `api_base`."""

    of: str = ""
    at: str = ""
    serving: str = ""
    changed: dict[str, Any] = {}
    id: str = ""
    name: str = ""
    api_base: str | None = None
    model: str = "openai/something"
    config_file: bool = False
    blocked: bool = False


class OpinionWords(Words):
    of: str
    says: str
    age_s: float = 5


class AttemptWords(Words):
    """A write of ours. Its body is the one just planned for that key, else the one we would write `at` an address."""

    kind: str
    of: str
    at: str = ""
    age_s: float = 10
    answer: str = "ok"
    answered_age_s: float | None = None
    refusals: int = 0
    detail: str = ""
    cause: str = "new"


class ApprovalWords(Words):
    """Somebody approved the write that the step before showed."""

    kind: str
    of: str
    by: str = "ann"
    age_s: float = 0


class ConfigWords(Words):
    """A box fetched its config; `servers` default to those intended on the host."""

    host: str
    first_age_s: float = 600
    last_age_s: float | None = None
    revision: str = "r1"
    servers: tuple[str, ...] | None = None
    peer: str = ""
    previous_peer: str = ""
    peer_changed_s_ago: float | None = None


class UnknownWords(Words):
    host: str
    first_age_s: float = 600
    last_age_s: float = 5
    count: int = 1


class RunWords(Words):
    n: int
    span_s: float = 0
    ended_s_ago: float = 16


class KeyHistory(Words):
    misses: RunWords | None = None
    hits: RunWords | None = None
    last_ok_age_s: float | None = None
    last_url: str | None = None
    instance: str | None = None
    removed_s_ago: tuple[float, ...] = ()
    delete_wanted_s_ago: float | None = None
    first_asked_s_ago: float | None = None
    last_up_s_ago: float | None = None
    discovered: bool = False
    drained: bool = False


class HostHistory(Words):
    absences: RunWords | None = None
    unlisted: bool = False
    read_s_ago: float = 60


class RowHistory(Words):
    listed_s_ago: float = 60
    downs: int = 0
    opinion_age_s: float | None = None
    orphan: RunWords | None = None


class PlacedHistory(Words):
    by: str  # "vast:9001"; ":" when no listing is known to have it
    listed_s_ago: float = 60
    once_intended: bool = True


class HistoryWords(Words):
    began_s_ago: float = 3600
    keys: dict[str, KeyHistory] = {}
    hosts: dict[str, HostHistory] = {}
    rows: dict[str, RowHistory] = {}
    placed: dict[str, PlacedHistory] = {}


class SourceWords(Words):
    age_s: float | None = None
    failed_s_ago: float | None = None
    error: str = ""


class Given(Words):
    """What was read. `sources`: "unread", "stale", "failed", "failed and stale", or {age_s, failed_s_ago, error}; all
    others were read a second ago. `kept`: sources not read again since the step before."""

    servers: tuple[str | ServerWords, ...] | UnsetType = UNSET
    models: tuple[str | ModelWords, ...] | UnsetType = UNSET
    listings: dict[str, tuple[InstanceWords, ...]] | UnsetType = UNSET
    probes: tuple[ProbeWords, ...] | UnsetType = UNSET
    rows: tuple[RowWords, ...] | UnsetType = UNSET
    opinions: tuple[OpinionWords, ...] | UnsetType = UNSET
    attempts: tuple[AttemptWords, ...] | UnsetType = UNSET
    approvals: tuple[ApprovalWords, ...] | UnsetType = UNSET
    config: tuple[ConfigWords, ...] | UnsetType = UNSET
    unknown_boxes: tuple[UnknownWords, ...] | UnsetType = UNSET
    labels: dict[str, str] | UnsetType = UNSET
    samples: dict[str, int] | UnsetType = UNSET  # host:listen_port -> tokens that its KV cache holds
    ended: dict[str, float] | UnsetType = UNSET  # "host:port/model" approved before config named the host -> s ago
    drained: tuple[str, ...] | UnsetType = UNSET
    strangers: dict[str, str] | UnsetType = UNSET  # "host:port" of inventory hosts nobody intended -> whose key
    settings: dict[str, Any] | UnsetType = UNSET
    intervals: dict[str, float] | UnsetType = UNSET
    sources: dict[str, str | SourceWords] | UnsetType = UNSET
    kept: tuple[str, ...] = ()
    other_configuration_s_ago: float | None = None
    history: HistoryWords | UnsetType = UNSET
