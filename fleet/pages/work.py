"""The Work needed strip: what waits for a person, grouped and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fleet import snapshots
from fleet.approvals import intended_rows
from fleet.models import Approval, IntendedServer
from fleet.pages.actions import ActionRow, action_rows
from fleet.pages.box_form import BoxForm, Typed, box_form
from fleet.pages.words import ITEMS, QUIET, STATUS, in_words
from reconcile.inputs import Intended, Model
from reconcile.view import Action, Item, Plan, Status
from reconcile.words import listed

PER_GROUP = 25
UNKNOWN_BOX = "unknown_box"
SHOWN_AS_ACTION = "held"  # the action itself is in the strip, with its button
_ORDER = list(ITEMS)
FOR_PEOPLE: tuple[Status, ...] = ("needs_human", "held", "parked")


@dataclass(frozen=True)
class BoxEntry:
    """An unknown box. `approved` says what it was given, while the loop has not taken that up yet."""

    item: Item
    form: BoxForm | None
    approved: str = ""


@dataclass(frozen=True)
class Group:
    """One heading of the strip; `total` counts what `boxes`, `actions` or `items` show only the first of."""

    id: str
    title: str
    total: int
    explain: str = ""
    boxes: list[BoxEntry] = field(default_factory=list)
    actions: list[ActionRow] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    quiet: bool = False  # good to know: nobody has to do anything

    @property
    def more(self) -> int:
        return self.total - len(self.boxes) - len(self.actions) - len(self.items)


def groups(plan: Plan, approvals: dict[str, Approval], typed: Typed | None) -> list[Group]:
    """Boxes first, then what an approval releases, then sentences. At most two queries, and none without a box."""
    items = _by_kind(plan.items)
    boxes = items.pop(UNKNOWN_BOX, [])
    waiting = {status: [action for action in plan.actions if action.status == status] for status in FOR_PEOPLE}
    return [
        *([_boxes(boxes, typed)] if boxes else []),
        *(_actions(status, actions, approvals) for status, actions in waiting.items() if actions),
        *(_items(kind, own) for kind, own in items.items()),
    ]


def _by_kind(items: Sequence[Item]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: _ORDER.index(item.kind) if item.kind in ITEMS else len(_ORDER)):
        if item.kind != SHOWN_AS_ACTION:
            found.setdefault(item.kind, []).append(item)
    return found


def _boxes(items: list[Item], typed: Typed | None) -> Group:
    newest = sorted(items, key=lambda item: item.since or 0.0, reverse=True)[:PER_GROUP]
    intended = snapshots.latest("intended", Intended)
    models = [model for model in intended.models if model.self_hosted] if intended else []
    given = _given([item.host for item in newest])
    entries = [_box(item, models, given.get(item.host), typed) for item in newest]
    return Group(UNKNOWN_BOX, ITEMS[UNKNOWN_BOX], len(items), boxes=entries)


def _box(item: Item, models: list[Model], given: list[IntendedServer] | None, typed: Typed | None) -> BoxEntry:
    if not given:
        return BoxEntry(item, box_form(item.host, models, typed))
    servers = listed([f"{row.model} on {row.listen_port}" for row in given])
    return BoxEntry(item, None, f"Set to run {servers} by {given[0].created_by or 'config.yaml'}.")


def _given(hosts: list[str]) -> dict[str, list[IntendedServer]]:
    found: dict[str, list[IntendedServer]] = {}
    for row in intended_rows(*hosts):
        found.setdefault(row.host.address, []).append(row)
    return found


def _actions(status: Status, actions: Sequence[Action], approvals: dict[str, Approval]) -> Group:
    word = STATUS[status]
    rows = action_rows(actions[:PER_GROUP], approvals)
    return Group(f"status-{status}", word.text, len(actions), word.explain, actions=rows)


def _items(kind: str, items: list[Item]) -> Group:
    return Group(kind, ITEMS.get(kind) or in_words(kind), len(items), items=items[:PER_GROUP], quiet=kind in QUIET)
