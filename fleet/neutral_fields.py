"""What each field of a pass's input is, for `fleet.neutral`: the name of the walker's method that replaces it, `of` for
what holds further structs, `keep` for what tells nothing of whose fleet it is."""

from __future__ import annotations

FIELDS: dict[str, dict[str, str]] = {
    "PassInput": {"snapshots": "of", "history": "of", "settings": "keep", "now": "time"},
    "Snapshots": {
        "intended": "of", "boxes": "of", "vllm": "of", "deployments": "of", "litellm_health": "of", "attempts": "of",
        "listings": "of", "samples": "of", "other_configuration_at": "time",
    },
    "Source": {"interval_s": "keep", "body": "of", "taken_at": "time", "failed_at": "time", "error": "words"},
    "Key": {"url": "url", "model": "name"},
    # what is wanted
    "Intended": {
        "servers": "of", "models": "of", "labels": "of", "approvals": "of", "discovered_key_hashes": "hashes",
        "drained": "of", "ended": "of", "listings": "keep", "settings": "keep",
    },
    "Server": {
        "host": "host", "listen_port": "keep", "model": "name", "label": "label", "pinned_port": "keep",
        "origin": "keep", "key_hash": "hash", "open_allowed": "keep", "legacy": "keep",
    },
    "Model": {
        "name": "name", "self_hosted": "keep", "params": "json", "info": "json", "weights": "name", "provider": "keep",
        "max_model_len": "keep", "context_window": "keep", "shown": "nothing",
    },
    "HostLabel": {"host": "host", "label": "keep", "at": "time", "by": "person"},
    "Approval": {"digest": "digest", "kind": "keep", "key": "of", "at": "time", "by": "person", "seen": "nothing"},
    "Ended": {"host": "host", "listen_port": "keep", "model": "name", "at": "time"},
    # boxes that asked
    "Boxes": {"boxes": "of", "unknown": "of"},
    "Box": {
        "host": "host", "seen_at": "time", "peer": "host", "served": "of", "peer_changed_at": "time",
        "previous_peer": "host",
    },
    "Served": {"revision": "revision", "first_at": "time", "last_at": "time", "servers": "of"},
    "ServedServer": {"listen_port": "keep", "model": "name"},
    "UnknownBox": {"host": "host", "first_at": "time", "last_at": "time", "count": "keep", "peer": "host"},
    # listings
    "Listing": {"instances": "of"},
    "Instance": {
        "id": "instance", "host": "host", "running": "keep", "status": "keep", "ports": "keep", "label": "label",
        "gpu": "keep", "price_usd_h": "nothing", "started_at": "time",
    },
    # probes
    "Probes": {"probes": "of"},
    "Probe": {
        "base": "url", "url": "url", "at": "time", "health_status": "keep", "models_status": "keep", "failure": "keep",
        "listed": "of", "latency_ms": "keep", "wrong_key_status": "keep", "wrong_key_at": "time",
        "key_hash": "hash", "last_answered_at": "time",
    },
    "ListedModel": {"id": "name", "root": "name", "parent": "name", "max_model_len": "keep"},
    # LiteLLM
    "Deployments": {"deployments": "of"},
    "Deployment": {
        "id": "row", "name": "name", "model": "serving", "api_base": "url", "db_model": "keep", "blocked": "keep",
        "llmao_key": "url", "asf_api_base": "url", "llmao_body": "printed", "llmao_params": "keep",
        "llmao_instance": "placement",
    },
    "Opinions": {"opinions": "of", "whole_at": "time"},
    "Opinion": {"id": "row", "state": "keep", "asked_at": "time", "api_base": "url", "detail": "words"},
    "Attempts": {"attempts": "of"},
    "Attempt": {
        "deployment_id": "row", "kind": "keep", "key": "of", "digest": "digest", "cause": "keep", "after": "body",
        "sent_at": "time", "answer": "keep", "answered_at": "time", "detail": "words", "refusals": "keep",
    },
    "Samples": {"samples": "of"},
    "Sample": {
        "name": "place", "at": "time", "kv_tokens": "keep", "running": "keep", "waiting": "keep",
        "prompt_tokens": "keep", "generation_tokens": "keep",
    },
    # what is remembered
    "History": {
        "began_at": "time", "passed_at": "time", "keys": "of", "hosts": "of", "rows": "of", "placed": "of",
    },
    "KeyMemory": {
        "key": "of", "since": "time", "changed_at": "time", "last_ok": "time", "probed_at": "time", "misses": "of",
        "hits": "of", "last_url": "url", "instance": "placement", "removals": "time", "delete_wanted_since": "time",
        "first_asked": "time", "last_up": "time", "discovered": "keep", "drained": "keep",
    },
    "Run": {"n": "keep", "first": "time", "last": "time"},
    "HostMemory": {"host": "host", "read_at": "time", "absences": "of", "unlisted": "keep"},
    "RowMemory": {
        "id": "row", "last_listed": "time", "key": "of", "orphan": "of", "downs": "keep", "down_first_asked": "time",
        "opinion_at": "time", "seen": "nothing", "seen_at": "nothing", "disagreed_at": "time",
    },
    "PlacedHost": {
        "host": "host", "provider": "keep", "instance": "instance", "listed_at": "time", "once_intended": "keep",
    },
}  # fmt: skip
