"""A pass as JSON for scripts: `plan --json` and `view --json`. Times are ISO 8601 in UTC, ages and intervals seconds.

No secret is in them, nor the hash that stands for one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from fleet.pages.sources import not_configured
from fleet.passes import Shown
from fleet.redact import redact
from reconcile.identity import Key
from reconcile.view import WRITES, Action, Item, ModelView, Plan, Record

CONVERGED, WRITING, WAITING = 0, 2, 3
DIGEST_SHOWN = 12  # characters that tell one action of a plan from the others


def plan_report(shown: Shown, now: float) -> dict[str, Any]:
    return {
        "pass": shown.id,
        "at": iso(shown.at),
        "mode": shown.plan.mode,
        "sources": sources_report(shown, now),
        "actions": [_action(action) for action in shown.plan.actions],
        "items": [_item(item) for item in shown.plan.items],
    }


def view_report(shown: Shown) -> dict[str, Any]:
    return {
        "pass": shown.id,
        "at": iso(shown.at),
        "records": [_record(record) for record in shown.view.records],
        "models": [_model(model) for model in shown.view.models],
    }


def sources_report(shown: Shown, now: float) -> dict[str, dict[str, Any]]:
    """name -> {state, age_s, error}; a provider without an API key is "not configured"."""
    read = {
        source.name: {
            "state": source.state,
            "age_s": None if source.taken_at is None else round(max(0.0, now - source.taken_at), 3),
            "error": source.error,
        }
        for source in shown.view.sources
    }
    absent = {name: {"state": "not configured", "age_s": None, "error": ""} for name in not_configured(shown.view)}
    return {**read, **absent}


def exit_code(plan: Plan) -> int:
    """0: no action; 2: one is sent now or soon; 3: what is left waits for a person, LiteLLM or a policy."""
    if not plan.actions:
        return CONVERGED
    return WRITING if any(action.status in WRITES for action in plan.actions) else WAITING


def iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _key(key: Key | None) -> dict[str, str] | None:
    return None if key is None else {"url": key.url, "model": key.model}


def _action(action: Action) -> dict[str, Any]:
    return {
        "kind": action.kind,
        "key": _key(action.key),
        "name": action.name,
        "deployment_id": action.deployment_id,
        "reason": action.reason,
        "policy": action.policy,
        "status": action.status,
        "digest": action.digest,
        "before": redact(action.before),
        "after": redact(action.after),
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "name": item.name,
        "reason": item.reason,
        "key": _key(item.key),
        "host": item.host,
        "since": iso(item.since),
        "rule": item.rule,
    }


def _record(record: Record) -> dict[str, Any]:
    row = record.deployment
    return {
        "key": _key(record.key),
        "name": record.name,
        "host": record.host,
        "lifecycle": record.lifecycle,
        "dialable_url": record.dialable_url,
        "skew": list(record.skew),
        "deployment": {"id": row.id, "api_base": row.api_base} if row else None,
        "probe": msgspec.to_builtins(record.probe),
        "reason": record.reason,
    }


def _model(model: ModelView) -> dict[str, Any]:
    return {
        "name": model.name,
        "status": model.status,
        "privacy": model.privacy,
        "context": model.context,
        "concurrency": model.concurrency,
    }
