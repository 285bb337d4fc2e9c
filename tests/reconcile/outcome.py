"""What a step of a scenario came to, in the words of its expectation: every difference as one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import UNSET

from reconcile.history import KeyMemory
from reconcile.identity import box_name
from reconcile.view import Action, Item, Plan, Record
from tests.reconcile.expected_words import ActionExpected, ItemExpected, KeyExpected, KeyRemembered, ModelExpected
from tests.reconcile.readings import key_of, row_id
from tests.reconcile.stage import Turn


def differences(turn: Turn) -> list[str]:
    """Empty when the step came out as its file says."""
    expected, view = turn.step.expect, turn.decision.view
    found = [*_actions(turn, expected.actions)]
    if expected.items is not UNSET:
        found += _items(turn.decision.plan.items, expected.items)
    if expected.keys is not UNSET:
        records = {each.name: each for each in view.records}
        found += _same("records", sorted(records), sorted(expected.keys))
        for name in expected.keys.keys() & records.keys():
            found += _record(records[name], expected.keys[name])
    found += _around(turn)
    for name, words in expected.remembered.items():
        found += _memory(turn, name, words)
    return found


def _same(what: str, have: Any, want: Any) -> Iterator[str]:
    if want is not UNSET and have != want:
        yield f"{what}: {have!r}, expected {want!r}"


def _says(what: str, sentence: str, parts: str | tuple[str, ...]) -> Iterator[str]:
    for part in (parts,) if isinstance(parts, str) else parts:
        if part not in sentence:
            yield f"{what} says {sentence!r}, expected in it {part!r}"


# --- the plan -------------------------------------------------------------------------------------------------


def _actions(turn: Turn, expected: tuple[ActionExpected, ...]) -> Iterator[str]:
    planned = turn.decision.plan.actions
    have = [(each.kind, each.name, each.status) for each in planned]
    want = [(each.kind, each.name, each.status) for each in expected]
    yield from _same("actions", have, want)
    if have == want:
        for action, words in zip(planned, expected, strict=True):
            yield from _action(action, words, turn.now)
            yield from _digest(action, words, turn.planned)


def _action(action: Action, words: ActionExpected, now: float) -> Iterator[str]:
    what = f"{action.kind} {action.name}"
    yield from _says(what, action.reason, words.reason)
    yield from _same(f"{what}: fields", tuple(map(_short, action.fields)), words.fields)
    yield from _same(f"{what}: cause", action.cause, words.cause)
    yield from _same(f"{what}: rule", action.rule, words.rule)
    yield from _same(f"{what}: id", action.deployment_id, words.id)
    yield from _same(f"{what}: resume", action.resume, words.resume)
    yield from _same(f"{what}: approved by", action.approved_by, words.approved_by)
    if words.after is None:
        yield from _same(f"{what}: after", action.after, None)
    elif words.after is not UNSET:
        for field, value in words.after.items():
            yield from _same(f"{what}: {field}", _at(action.after, field), value)
    next_try_in_s = None if action.next_try is None else action.next_try - now
    yield from _same(f"{what}: next try in", next_try_in_s, words.next_try_in_s)


def _digest(action: Action, words: ActionExpected, before: Plan) -> Iterator[str]:
    if words.same_digest is not UNSET:
        shown = {(each.kind, each.name): each.digest for each in before.actions}
        same = action.digest == shown.get((action.kind, action.name))
        yield from _same(f"{action.kind} {action.name}: same digest", same, words.same_digest)


def _short(field: str) -> str:
    """The name of a field as a sentence says it: "api_base", "llmao_key", "model_name"."""
    return field.rpartition(".")[2]


def _at(body: Mapping[str, Any] | None, field: str) -> Any:
    value: Any = body
    for part in field.split("."):
        value = value.get(part, "(absent)") if isinstance(value, Mapping) else "(absent)"
    return value


def _items(have: Iterable[Item], expected: tuple[ItemExpected, ...]) -> Iterator[str]:
    rows, wanted = sorted(have, key=_item_order), sorted(expected, key=lambda each: (each.kind, each.name))
    names, want = [(each.kind, each.name) for each in rows], [(each.kind, each.name) for each in wanted]
    yield from _same("items", names, want)
    if names == want:
        for item, words in zip(rows, wanted, strict=True):
            yield from _says(f"item {item.kind} {item.name}", item.reason, words.reason)


def _item_order(item: Item) -> tuple[str, str]:
    return item.kind, item.name


# --- the view -------------------------------------------------------------------------------------------------


def _record(record: Record, words: KeyExpected) -> Iterator[str]:
    row = record.deployment
    facts = {
        "lifecycle": record.lifecycle,
        "skew": record.skew,
        "dialable": record.dialable_url and box_name(record.dialable_url),
        "step": record.dialable_step,
        "deployment": row.state if row else None,
        "row": row.id if row else "",
        "differing": tuple(map(_short, row.differing)) if row else (),
        "misses": record.misses,
        "probe": record.probe.state,
        "provider": record.provider,
        "inventory": record.inventory.state if record.inventory else "",
        "unlisted": record.unlisted,
        "litellm": record.litellm_health.state,
        "origin": record.origin,
        "drained": record.drained,
        "blocked": row.blocked if row else False,
        "rule": record.rule,
    }
    for fact, have in facts.items():
        yield from _same(f"{record.name}: {fact}", have, getattr(words, fact))
    yield from _says(record.name, record.reason, words.reason)
    if words.probe_says is not UNSET:
        yield from _says(f"the probe of {record.name}", record.probe.detail, words.probe_says)


def _around(turn: Turn) -> Iterator[str]:
    """Everything in the view beside the records, and the memory of hosts and rows."""
    expected, view, history = turn.step.expect, turn.decision.view, turn.decision.history
    targets = {box_name(each.base): box_name(each.url) for each in view.targets}
    yield from _same("targets", targets, expected.targets)
    if expected.ask is not UNSET:
        yield from _same("ask", view.ask, tuple(row_id(turn.fleet, each) for each in expected.ask))
    yield from _same("refresh", view.refresh, expected.refresh)
    if expected.sources is not UNSET:
        states = {each.name: each.state for each in view.sources}
        yield from _same("sources", {name: states.get(name) for name in expected.sources}, expected.sources)
    if expected.placed is not UNSET:
        placed = {each.host: f"{each.provider}:{each.instance}" for each in history.placed}
        yield from _same("placed", placed, expected.placed)
    runs = {each.id: each.orphan.n for each in history.rows if each.orphan}
    for name, n in expected.orphan_runs.items():
        yield from _same(f"orphan run of {name}", runs.get(row_id(turn.fleet, name), 0), n)
    if expected.models is not UNSET:
        yield from _models(turn, expected.models)


def _models(turn: Turn, expected: Mapping[str, ModelExpected]) -> Iterator[str]:
    models = {each.name: each for each in turn.decision.view.models}
    yield from _same("models", sorted(models), sorted(expected))
    for name in models.keys() & expected.keys():
        model, words = models[name], expected[name]
        yield from _same(f"{name}: status", model.status, words.status)
        yield from _same(f"{name}: privacy", model.privacy, words.privacy)
        yield from _same(f"{name}: context", model.context, words.context)
        yield from _says(name, model.sentence, words.sentence)


# --- the history ----------------------------------------------------------------------------------------------


def _memory(turn: Turn, name: str, words: KeyRemembered) -> Iterator[str]:
    key = key_of(turn.fleet, name)
    memory = next((each for each in turn.decision.history.keys if each.key == key), KeyMemory(key=key, since=0))
    facts = {
        "misses": memory.misses.n if memory.misses else None,
        "hits": memory.hits.n if memory.hits else None,
        "last_ok_age_s": None if memory.last_ok is None else turn.now - memory.last_ok,
        "last_url": box_name(memory.last_url) if memory.last_url else None,
        "instance": memory.instance,
        "removals": len(memory.removals),
    }
    for fact, have in facts.items():
        yield from _same(f"remembered of {name}: {fact}", have, getattr(words, fact))
