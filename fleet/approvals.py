"""What people decide: a box's servers, an action's release, a host's labels.

Each decision is a fact that is stored and logged with who and when; then the `intended` source is read again, which
wakes the loop. All of them may be repeated: the second click changes nothing. Who may decide is the caller's to check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from fleet import clock, fetching, passes, snapshots
from fleet.config.addresses import refused_because
from fleet.models import HOST_LABELS, ActionLog, Approval, Attempt, BoxContact, Host, HostLabel, IntendedServer
from fleet.storable import storable
from reconcile.identity import canonical_host
from reconcile.inputs import Intended
from reconcile.view import Action
from reconcile.words import listed

FIRST_PORT = 8001
LAST_PORT = 65535
WAITING = frozenset({"held", "needs_human"})  # the action statuses that an approval releases
Row = tuple[str, int | None]  # model name, listen port or None for the next free one from 8001


class Refused(Exception):
    """A decision that cannot be taken. `sentences` are shown as they are, each naming what is wrong."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


# --- a box ----------------------------------------------------------------------------------------------------


def approve_box(host: str, rows: Sequence[Row], by: str) -> list[IntendedServer]:
    """Let an unknown box run `rows`: intended rows of origin "approval", and the label `approved`.

    Returns the box's servers. Raises Refused with every reason at once; nothing is stored then.
    """
    address, wanted = _address(host), numbered(rows)
    with transaction.atomic():
        contact = BoxContact.objects.select_for_update().filter(host=address).first()
        standing = list(intended_rows(address))
        if wanted and set(wanted) <= {(row.model, row.listen_port) for row in standing}:
            return standing
        if sentences := [*_box_refusals(address, contact, standing), *_row_refusals(address, wanted)]:
            raise Refused(*sentences)
        return _approve(address, wanted, by)


def intended_rows(*addresses: str) -> QuerySet[IntendedServer]:
    """The servers that these hosts are set to run now, whoever said so."""
    rows = IntendedServer.objects.select_related("host").filter(ended_at=None)
    return rows.filter(host__address__in=addresses)


def numbered(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """The rows with every port filled in: 8001, 8002, … in their order, but for those typed."""
    rows = list(rows)
    typed = {port for _, port in rows if port is not None}
    free = (port for port in range(FIRST_PORT, FIRST_PORT + len(rows) + len(typed) + 1) if port not in typed)
    return [(model, next(free) if port is None else port) for model, port in rows]


def self_hosted_models() -> list[str]:
    """The models that a box can be given, in the order of models.yaml, as the `intended` source last read them."""
    intended = snapshots.latest("intended", Intended)
    return [model.name for model in intended.models if model.self_hosted] if intended else []


def _approve(address: str, wanted: list[tuple[str, int]], by: str) -> list[IntendedServer]:
    box, _ = Host.objects.get_or_create(address=address)
    servers = [
        IntendedServer.objects.create(host=box, model=model, listen_port=port, origin="approval", created_by=by)
        for model, port in wanted
    ]
    HostLabel.objects.get_or_create(host=box, label="approved", defaults={"by": by})
    decided("approve_box", address, by, _runs(servers), {"servers": [[model, port] for model, port in wanted]})
    return servers


def _box_refusals(address: str, contact: BoxContact | None, standing: list[IntendedServer]) -> list[str]:
    if contact is None:
        return [f"{address} never presented the fleet key: to plan for a box ahead of time, use the admin."]
    if any(row.origin == "config" for row in standing):
        return [f"config.yaml already names {address}: add its servers there."]
    if standing:
        told = f"{address} is already set to run {_runs(standing)} (by {standing[0].created_by or 'an admin'})"
        return [f"{told}: add or end servers in the admin."]
    if HostLabel.objects.filter(host__address=address, label="retired").exists():
        return [f"{address} is retired: clear that label in the admin first."]
    return []


def _row_refusals(address: str, wanted: list[tuple[str, int]]) -> list[str]:
    known = self_hosted_models()
    if not known:
        return ["No self-hosted model is known yet: add one to models.yaml, and see the source `intended` for errors."]
    if not wanted:
        return [f"Choose at least one model for {address}."]
    strange = [model for model, _ in wanted if model not in known]
    unknown = [f"{model!r} is no self-hosted model: choose {_either(known)}." for model in strange]
    ranged = [
        f"Port {port} for {model}: type a number from 1 to {LAST_PORT}."
        for model, port in wanted
        if not 1 <= port <= LAST_PORT
    ]
    return [*unknown, *ranged, *_shared_ports(wanted)]


def _shared_ports(wanted: list[tuple[str, int]]) -> list[str]:
    shared = [port for port, count in Counter(port for _, port in wanted).items() if count > 1]
    return [
        f"Port {port} is given to {listed([model for model, own in wanted if own == port])}: each needs its own."
        for port in shared
    ]


def _either(names: list[str]) -> str:
    return f"one of {', '.join(names)}" if len(names) > 1 else names[0]


def _runs(servers: list[IntendedServer]) -> str:
    return listed([f"{server.model} on {server.listen_port}" for server in servers])


# --- an action ------------------------------------------------------------------------------------------------


def approve_action(digest: str, by: str) -> Approval:
    """Release the action with this digest in the newest plan, keeping what was seen. Raises Refused."""
    standing = waiting_approvals().filter(digest=digest).first()
    if standing:
        return standing
    return _release(_waiting_action(digest), by)


def withdraw(digest: str, by: str) -> int:
    """Take back the approvals of this digest that were not used yet. Returns how many there were."""
    standing = list(waiting_approvals().filter(digest=digest))
    changed = waiting_approvals().filter(digest=digest).update(withdrawn_at=clock.now())
    for approval in standing[:1]:
        decided("withdraw", approval.name, by, f"{approval.kind} approved by {approval.by}")
    return changed


def retry(digest: str, by: str) -> str:
    """Forget the refusals of a parked write, so that the loop sends it again. Returns its name. Raises Refused."""
    shown = passes.latest()
    found = [each for each in shown.plan.actions if each.digest == digest] if shown else []
    if not found:
        raise Refused("No such write is planned now: it was done, or things changed.")
    if found[0].status != "parked":
        raise Refused(f"{found[0].name}: it is not parked, its status is {found[0].status.replace('_', ' ')}.")
    Attempt.objects.filter(pk=found[0].deployment_id).update(refusals=0)
    transaction.on_commit(partial(fetching.fetch, "attempts"))
    decided("retry", found[0].name, by, found[0].reason)
    return found[0].name


def waiting_approvals() -> QuerySet[Approval]:
    """Approvals neither used nor taken back."""
    return Approval.objects.filter(spent_at=None, withdrawn_at=None)


def _waiting_action(digest: str) -> Action:
    shown = passes.latest()
    for action in shown.plan.actions if shown else ():
        if action.digest == digest and action.status in WAITING:
            return action
        if action.digest == digest:
            raise Refused(_needs_none(action))
    raise Refused(f"No action {digest[:12]} is in the newest plan: it was done, or things changed. Look again.")


def _needs_none(action: Action) -> str:
    if action.status == "observed":
        return f"{action.name}: nothing is written while policy.mode is observe. Set it to act in config.yaml."
    if action.status == "parked":
        return f"{action.name}: LiteLLM refused it again and again; press Retry once that is mended: {action.reason}"
    return f"{action.name}: it waits for nobody, its status is {action.status.replace('_', ' ')}."


@transaction.atomic
def _release(action: Action, by: str) -> Approval:
    approval = Approval.objects.create(
        digest=action.digest,
        kind=action.kind,
        key_url=storable(action.key.url),
        key_model=storable(action.key.model),
        name=storable(action.name),
        seen=storable(msgspec.to_builtins(action)),
        at=clock.now(),
        by=by,
    )
    decided("approve", action.name, by, action.reason, {"kind": action.kind, "digest": action.digest})
    return approval


# --- a host ---------------------------------------------------------------------------------------------------


def set_label(host: str, label: str, by: str) -> HostLabel:
    """Write `label` on a host, with who and when. Raises Refused for a word that is no label, or no address."""
    if label not in HOST_LABELS:
        raise Refused(f"{label!r} is no host label: use {listed(list(HOST_LABELS))}.")
    with transaction.atomic():
        box, _ = Host.objects.get_or_create(address=_address(host))
        written, new = HostLabel.objects.get_or_create(host=box, label=label, defaults={"by": by})
        if new:
            decided("set_label", box.address, by, label.replace("_", " "))
    return written


def clear_label(host: str, label: str, by: str) -> bool:
    """Take `label` off a host; False when it did not have it."""
    address = _address(host)
    with transaction.atomic():
        deleted, _ = HostLabel.objects.filter(host__address=address, label=label).delete()
        if deleted:
            decided("clear_label", address, by, label.replace("_", " "))
    return bool(deleted)


def end_server(server: IntendedServer, by: str) -> bool:
    """End an intended row (it is kept, with who and when); False when it had ended. Raises Refused for config's."""
    if server.origin == "config":
        raise Refused(f"{server} is in config.yaml: take it out there.")
    with transaction.atomic():
        live = IntendedServer.objects.filter(pk=server.pk, ended_at=None)
        ended = live.update(ended_at=timezone.now(), ended_by=by)
        if ended:
            name = f"{server.host}:{server.listen_port}/{server.model}"
            decided("end_server", name, by, f"set by {server.created_by or 'an admin'}")
    return bool(ended)


# --- afterwards -----------------------------------------------------------------------------------------------


def decided(kind: str, name: str, by: str, reason: str = "", after: dict[str, Any] | None = None) -> None:
    """Log a human decision, and have the loop take it up once it is committed."""
    ActionLog.objects.create(kind=kind, name=storable(name), by=by, reason=storable(reason), after=after, answer="ok")
    transaction.on_commit(take_up)


def take_up() -> None:
    """Read what people want again: a new `intended` snapshot, which wakes the loop."""
    fetching.fetch("intended")


def _address(host: str) -> str:
    try:
        address = canonical_host(host)
    except ValueError as error:
        raise Refused(f"{error}.") from error
    if why := refused_because(address):
        raise Refused(f"{address} {why}: no box can be there.")
    return address
