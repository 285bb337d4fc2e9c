"""A stored pass as a scenario file of `tests/reconcile`: its input under neutral names, and what it must come to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fleet.neutral import Unclassified
from fleet.neutral_names import Replaced, replaced
from fleet.replays import PassInput
from fleet.rules import ROWS, SECTIONS
from reconcile.decide import Decision
from reconcile.identity import box_name
from reconcile.view import Action, Record
from reconcile.words import count

NAME = re.compile(r"([A-Z]\d{0,2})-[A-Za-z0-9-]+")
WIDTH = 118
VARIANTS = 10


class CannotWrite(Exception):
    """`message` says why no file was written and what to type instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def write(name: str, folder: Path, given: PassInput) -> tuple[Path, list[str]]:
    """Write the scenario; returns its path, and of what the copy decides otherwise than the pass did (none, unless
    the decision turns on something that neutral names cannot keep). Raises CannotWrite."""
    row, path = _row(name), folder / f"{name}.json"
    if not folder.is_dir():
        raise CannotWrite(f"There is no folder {folder}: name one with --to.")
    if path.exists():
        raise CannotWrite(f"{path} exists: take another name.")
    try:
        copy, lost = _copied(given)
    except Unclassified as field:
        raise CannotWrite(f"{field}, so it is not known whether it may be shown.") from field
    path.write_text(f"{laid_out(scenario(row, copy, copy.decide()))}\n")
    return path, lost


def _copied(given: PassInput) -> tuple[PassInput, list[str]]:
    """The input under neutral names. Where a decision turns on the order of rows' ids, only some names keep it."""
    decision = given.decide()
    tries = (replaced(given, decision, variant) for variant in range(VARIANTS))
    judged = ((copy.given, list(_otherwise(decision, copy.given.decide(), copy))) for copy in tries)
    first = next(judged)
    return first if not first[1] else next((each for each in judged if not each[1]), first)


def _row(name: str) -> str:
    found = NAME.fullmatch(name)
    if not found or (found[1] not in ROWS and found[1] not in SECTIONS):
        example = "such as R10-dead-in-june or B-odd-page"
        raise CannotWrite(f"{name!r}: begin with the rule that it shows, then words joined by -, {example}.")
    return found[1]


def scenario(row: str, given: PassInput, answer: Decision) -> dict[str, Any]:
    """The file as JSON."""
    return {
        "title": _title(answer),
        "table": [row],
        "raw": {
            "now": given.now,
            "settings": msgspec.to_builtins(given.settings),
            "history": plain(given.history),
            "snapshots": plain(given.snapshots),
        },
        "expect": _expected(answer),
    }


def _title(answer: Decision) -> str:
    keys = count(sum(each.origin != "none" for each in answer.view.records), "key")
    planned = ", ".join(f"{each.kind} {each.status}" for each in answer.plan.actions[:3])
    return f"A pass as it was, {keys}: {planned or 'nothing to write'}"


def plain(value: Any) -> Any:
    """A struct as JSON without the fields that have their default."""
    if isinstance(value, msgspec.Struct):
        fields = ((each, getattr(value, each.name)) for each in msgspec.structs.fields(value))
        return {each.name: plain(inner) for each, inner in fields if inner != _default(each)}
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


# --- what it must come to -------------------------------------------------------------------------------------


def _expected(answer: Decision) -> dict[str, Any]:
    """In the words that scenario files expect things in: verdicts and plan, without sentences."""
    view, plan = answer.view, answer.plan
    return {
        "keys": {each.name: _key(each) for each in view.records},
        "actions": [_action(each) for each in plan.actions],
        "items": [{"kind": each.kind, "name": each.name} for each in plan.items],
        "models": {each.name: {"status": each.status, "privacy": each.privacy} for each in view.models},
        "sources": {each.name: each.state for each in view.sources},
        "targets": {box_name(each.base): box_name(each.url) for each in view.targets},
        "ask": list(view.ask),
        "refresh": list(view.refresh),
    }


def _key(record: Record) -> dict[str, Any]:
    row = record.deployment
    found: dict[str, Any] = {
        "lifecycle": record.lifecycle,
        "skew": list(record.skew),
        "dialable": record.dialable_url and box_name(record.dialable_url),
        "step": record.dialable_step,
        "deployment": row.state if row else None,
        "misses": record.misses,
        "probe": record.probe.state,
        "unlisted": record.unlisted,
    }
    if row:
        found |= {"row": row.id, "differing": [name.rpartition(".")[2] for name in row.differing]}
    return found


def _action(action: Action) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(action, name) for name in ("kind", "name", "status", "cause")}
    found |= {"id": action.deployment_id, "fields": [name.rpartition(".")[2] for name in action.fields]}
    more = {"resume": action.resume, "approved_by": action.approved_by}
    return found | {name: value for name, value in more.items() if value}


# --- whether anything was lost --------------------------------------------------------------------------------


def _otherwise(decision: Decision, answer: Decision, copy: Replaced) -> Iterator[str]:
    """Records and actions of the pass that the copy does not have in the same way."""
    walker = copy.walker
    have = {_verdicts(each) for each in answer.view.records}
    for record in decision.view.records:
        own = walker.of(record.key)
        row = record.deployment and walker.row(record.deployment.id)
        if (own, *_verdicts(record)[1:-1], row) not in have:
            yield f"{record.name} ({own.model} at {box_name(own.url)})"
    planned = {(each.kind, each.deployment_id, each.status, each.cause) for each in answer.plan.actions}
    for action in decision.plan.actions:
        if (action.kind, walker.row(action.deployment_id), action.status, action.cause) not in planned:
            yield f"{action.kind} {action.name}"


def _verdicts(record: Record) -> tuple[Any, ...]:
    row = record.deployment
    state = (row.state, row.differing) if row else None
    verdicts = record.lifecycle, record.skew, record.unlisted, record.misses, record.probe.state, state
    return record.key, record.dialable_step, *verdicts, row and row.id


# --- the file's looks -----------------------------------------------------------------------------------------


def laid_out(value: Any, indent: str = "") -> str:
    """JSON with what fits on a line on one line."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {laid_out(each, inner)}" for name, each in value.items()]
    else:
        parts = [laid_out(each, inner) for each in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    joined = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{joined}\n{indent}{closing}"
