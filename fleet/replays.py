"""What each pass that changed something was decided from, kept so that it can be decided again.

A body that did not change between two passes is stored once, under the SHA-256 of its JSON. No secret is in any of
it: a secret stands in a body as its keyed hash.
"""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Any

import msgspec

from fleet.models import Pass, Replay, ReplayBody
from fleet.snapshots import pack, unpack
from reconcile.decide import Decision, reconcile
from reconcile.history import History
from reconcile.inputs import Snapshots, Source
from reconcile.settings import Settings
from reconcile.view import Plan
from reconcile.words import count

KEPT = 200
KEPT_S = 7 * 24 * 3600.0
Packed = dict[str, bytes]  # SHA-256 in hex -> JSON


class NotKept(Exception):
    """There is no replay of that pass, or none that this version can read. `message` says so and what to type."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PassInput(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one pass is decided from."""

    snapshots: Snapshots
    history: History
    settings: Settings
    now: float

    def decide(self) -> Decision:
        return reconcile(self.snapshots, self.history, self.settings, self.now)


class Stub(msgspec.Struct, frozen=True, kw_only=True):
    """A PassInput whose bodies are kept elsewhere: in `snapshots` each `body` is a digest, and so is `history`."""

    snapshots: dict[str, Any]
    history: str
    settings: Settings
    now: float


def keep(number: int, given: PassInput, decision: Decision, changed: int) -> None:
    """Store what pass `number` was decided from, in the caller's transaction, when it changed verdicts or planned
    something that was not planned before; then forget what is too old or too much."""
    why = _why(number, decision.plan, changed)
    if why:
        _store(number, given, decision, why)
    _prune(given.now)


def load(number: int) -> PassInput:
    """What a pass was decided from. Raises NotKept."""
    stored = Replay.objects.filter(pass_id=number).first()
    if stored is None:
        raise NotKept(_not_kept(number))
    bodies = {body.digest: zlib.decompress(body.body) for body in stored.bodies.all()}
    try:
        return _joined(unpack(stored.stub, Stub), bodies)
    except msgspec.DecodeError as wrong:
        raise NotKept(f"Pass {number} was stored by another version of llmao: {wrong}. Replay a newer one.") from wrong


def newest() -> int | None:
    """The newest pass that can be replayed."""
    return Replay.objects.values_list("pass_id", flat=True).first()


def answer_of(decision: Decision) -> str:
    """What a whole answer, history included, comes to: equal for equal bytes."""
    return sha256(msgspec.json.encode(decision)).hexdigest()


def _why(number: int, plan: Plan, changed: int) -> str:
    """Why the pass is worth keeping; "" when it is not."""
    before = Pass.objects.filter(id__lt=number).order_by("-id").values_list("plan", flat=True).first()
    ready = sum(action.status == "ready" for action in plan.actions)
    new = len(_planned(plan) - _planned_before(before))
    said = [
        f"{count(changed, 'verdict')} changed" if changed else "",
        f"{count(ready, 'action')} ready" if ready else "",
        f"{count(new, 'action')} new or changed" if new and new != ready else "",
    ]
    return ", ".join(filter(None, said))


def _planned(plan: Plan) -> set[tuple[str, str, str, str]]:
    return {(each.kind, each.deployment_id, each.digest, each.status) for each in plan.actions}


def _planned_before(packed: bytes | memoryview | None) -> set[tuple[str, str, str, str]]:
    try:
        return _planned(unpack(packed, Plan)) if packed else set()
    except msgspec.DecodeError:  # written by another version
        return set()


def _store(number: int, given: PassInput, decision: Decision, why: str) -> None:
    bodies: Packed = {}
    stub = Stub(
        snapshots={name: _apart(getattr(given.snapshots, name), bodies) for name in Snapshots.__struct_fields__},
        history=_put(given.history, bodies),
        settings=given.settings,
        now=given.now,
    )
    known = set(ReplayBody.objects.filter(digest__in=bodies).values_list("digest", flat=True))
    ReplayBody.objects.bulk_create(
        [
            ReplayBody(digest=digest, body=zlib.compress(body, 1))
            for digest, body in bodies.items()
            if digest not in known
        ]
    )
    stored = Replay(pass_id=number, at=given.now, why=why, stub=pack(stub), answer=answer_of(decision))
    stored.save(force_insert=True)
    stored.bodies.add(*bodies)  # type: ignore[arg-type]  # primary keys, which are text here


def _apart(value: Any, bodies: Packed) -> Any:
    """The value with the digest of each source's body in its place; the bodies go to `bodies`."""
    if isinstance(value, Source):
        stamp = {name: getattr(value, name) for name in value.__struct_fields__}
        return {**stamp, "body": None if value.body is None else _put(value.body, bodies)}
    if isinstance(value, dict):
        return {name: _apart(each, bodies) for name, each in value.items()}
    return value


def _put(body: msgspec.Struct, bodies: Packed) -> str:
    packed = msgspec.json.encode(body)
    digest = sha256(packed).hexdigest()
    bodies[digest] = packed
    return digest


def _joined(stub: Stub, bodies: Packed) -> PassInput:
    whole = {name: _together(value, bodies) for name, value in stub.snapshots.items()}
    return PassInput(
        snapshots=msgspec.json.decode(msgspec.json.encode(whole), type=Snapshots),
        history=msgspec.json.decode(bodies[stub.history], type=History),
        settings=stub.settings,
        now=stub.now,
    )


def _together(value: Any, bodies: Packed) -> Any:
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("body"), str):
        return {**value, "body": msgspec.Raw(bodies[value["body"]])}
    return {name: _together(each, bodies) for name, each in value.items()}


def _prune(now: float) -> None:
    """Forget replays by count and age, and the bodies that no replay needs any more."""
    oldest = list(Replay.objects.values_list("pass_id", flat=True)[KEPT : KEPT + 1])
    gone = Replay.objects.filter(at__lt=now - KEPT_S) | Replay.objects.filter(pass_id__lte=oldest[0] if oldest else -1)
    if gone.exists():
        gone.delete()
        ReplayBody.objects.filter(replays=None).delete()


def _not_kept(number: int) -> str:
    below = Replay.objects.filter(pass_id__lt=number).order_by("-pass_id").values_list("pass_id", flat=True).first()
    above = Replay.objects.filter(pass_id__gt=number).order_by("pass_id").values_list("pass_id", flat=True).first()
    near = [str(each) for each in (below, above) if each is not None]
    there_was = Pass.objects.filter(pk=number).exists()
    why = f"Pass {number} changed nothing, so it" if there_was else f"Pass {number} is not known: it"
    rest = (
        f"the nearest that can be: {' and '.join(near)}" if near else "nor can any other, until one changes something"
    )
    return f"{why} cannot be replayed; {rest}."
