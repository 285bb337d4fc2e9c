"""How two answers to one input differ, in verdicts and actions; for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from fleet.events import standing
from reconcile.view import Plan, View

Row = tuple[str, str, str]  # what it is about, of what, "before → now"


def differences(before: tuple[View, Plan], now: tuple[View, Plan]) -> list[Row]:
    """Empty when verdicts, actions, items and models are the same; sentences and ages are not compared."""
    return [row for tell in (_verdicts, _rules, _actions, _items, _models) for row in _told(tell(*before), tell(*now))]


def _told(before: Mapping[tuple[str, str], Any], now: Mapping[tuple[str, str], Any]) -> Iterator[Row]:
    for what, name in sorted(before.keys() | now.keys()):
        was, is_now = before.get((what, name), "–"), now.get((what, name), "–")
        if was != is_now:
            yield what, name, f"{was} → {is_now}"


def _verdicts(view: View, _plan: Plan) -> dict[tuple[str, str], Any]:
    return {
        (verdict, record.name): word for record in view.records for verdict, word in asdict(standing(record)).items()
    }


def _rules(view: View, _plan: Plan) -> dict[tuple[str, str], Any]:
    return {("rule", record.name): record.rule for record in view.records}


def _actions(_view: View, plan: Plan) -> dict[tuple[str, str], Any]:
    return {
        (each.kind, f"{each.name} ({each.deployment_id})"): f"{each.status} [{each.digest[:12]}]"
        for each in plan.actions
    }


def _items(_view: View, plan: Plan) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], int] = {}
    for each in plan.items:
        found["item " + each.kind, each.name] = found.get(("item " + each.kind, each.name), 0) + 1
    return found


def _models(view: View, _plan: Plan) -> dict[tuple[str, str], Any]:
    return {("model", each.name): f"{each.status}, {each.privacy}" for each in view.models}
