"""What stands for each name of a fleet, chosen so that the decision comes out the same: names sort as they did, ids and
fingerprints are worked out anew from what they are made of."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import msgspec

from fleet.neutral import Walker, own_print
from fleet.replays import PassInput
from reconcile import bodies
from reconcile.decide import Decision
from reconcile.identity import Key, address_url, box_name, deployment_id, has_our_form, provider_url
from reconcile.inputs import Deployment, Intended, Model, Server
from reconcile.probe import served_name
from reconcile.view import Record

Names = dict[str, dict[str, str]]  # kind -> name -> what stands for it
# kind -> how the n-th of them, in their own order, is called
CALLED = {
    "base": "https://provider-{:02}.example.test",
    "instance": "{}",
    "label": "label-{:02}",
    "person": "person-{:02}",
    "revision": "revision-{:02}",
    "sentence": "sentence {}",
    "word": "word-{:02}",
    "hash": "{:032x}",
    "digest": "{:016x}",
    "print": "{:016x}",
}
FIRST_INSTANCE = 1000


class Replaced(msgspec.Struct, frozen=True):
    """An input with neutral names, and how it came to be."""

    given: PassInput
    walker: Walker


def replaced(given: PassInput, decision: Decision, variant: int = 0) -> Replaced:
    """The input under neutral names. `decision` is what it comes to as it is: approvals and attempts are bound to the
    digests of its actions, which are worked out anew too. Another `variant` has other addresses, and so other ids."""
    names = _names(given, decision, variant)
    first = _walked(given, names)
    ids = names["row"]
    anew = {(each.kind, each.deployment_id): each.digest for each in first.given.decide().plan.actions}
    for action in decision.plan.actions:
        place = action.kind, ids.get(action.deployment_id, action.deployment_id)
        names["digest"][action.digest] = anew.get(place, names["digest"].get(action.digest, ""))
    return _walked(given, names)


def _walked(given: PassInput, names: Names) -> Replaced:
    walker = Walker(lambda kind, text: names[kind][text], given.now)
    return Replaced(walker.of(given), walker)


def _names(given: PassInput, decision: Decision, variant: int) -> Names:
    met: dict[str, set[str]] = defaultdict(set)

    def collect(kind: str, text: str) -> str:
        met[kind].add(text)
        return text

    collecting = Walker(collect, given.now)
    collecting.of(given)
    names: Names = {kind: _called(kind, texts) for kind, texts in met.items()}
    for kind in ("host", "name", "row", "print", "digest"):
        names.setdefault(kind, {})
    names["host"] = _hosts(met["host"], variant)
    names["name"] = _models(met["name"], given.snapshots.intended.body)
    walker = Walker(lambda kind, text: names[kind][text], given.now)
    names["row"] = _rows(met["row"], collecting.keys | set(_keys(given, decision)), walker)
    names["print"] |= _prints(given, decision, collecting.bodies, walker)
    return names


def _called(kind: str, texts: Iterable[str]) -> dict[str, str]:
    first = FIRST_INSTANCE if kind == "instance" else 1
    pattern = CALLED.get(kind, kind + "-{:02}")
    return {text: pattern.format(number) for number, text in enumerate(sorted(texts), first)}


def _hosts(texts: Iterable[str], variant: int = 0) -> dict[str, str]:
    """Addresses that are for documentation (then loopback ones), in the order of those that they stand for."""
    old = sorted(text for text in texts if ":" not in text)
    six = sorted(text for text in texts if ":" in text)
    new = sorted(islice(_addresses(), variant, variant + len(old)))
    return dict(zip(old, new, strict=True)) | {text: f"2001:db8::{number:x}" for number, text in enumerate(six, 16)}


def _addresses() -> Iterator[str]:
    documented = (f"{net}.{last}" for net in ("203.0.113", "198.51.100", "192.0.2") for last in range(10, 250))
    loopback = (f"127.{two}.{three}.{last}" for two in range(1, 250) for three in range(250) for last in range(1, 250))
    return chain(documented, loopback)


def _models(texts: Iterable[str], intended: Intended | None) -> dict[str, str]:
    """Names of models.yaml stay: they are what a scenario is read by. Any other is somebody else's."""
    known: set[str] = set()
    for model in intended.models if intended else ():
        known |= {model.name, model.weights, served_name(model)}
    strange = sorted(set(texts) - known)
    return {text: text for text in known} | {text: f"model-{number:02}" for number, text in enumerate(strange, 1)}


def _keys(given: PassInput, decision: Decision) -> Iterator[Key]:
    """The keys that are nowhere written as one: servers, providers' models, what was discovered, the stamps of rows."""
    yield from (record.key for record in decision.view.records if record.origin == "discovered")
    intended, listed = given.snapshots.intended.body, given.snapshots.deployments.body
    for server in intended.servers if intended else ():
        yield Key(address_url(server.host, server.listen_port), server.model)
    for model in intended.models if intended else ():
        if not model.self_hosted:
            yield Key(provider_url(str(model.params["api_base"])), model.name)
    for row in listed.deployments if listed else ():
        if row.llmao_key:
            yield Key(row.llmao_key, row.name)


def _rows(texts: Iterable[str], keys: Iterable[Key], walker: Walker) -> dict[str, str]:
    """Ids of LiteLLM rows: ours follow from their key, and one of our form stays one."""
    ours: dict[str, str] = {}
    for key in keys:
        new = Key(walker.url(key.url), walker.name(key.model))
        for second in (False, True):
            ours[deployment_id(key, second=second)] = deployment_id(new, second=second)
    rest = sorted(set(texts) - ours.keys())
    return ours | {text: _strange_row(text, number) for number, text in enumerate(rest, 1)}


def _strange_row(text: str, number: int) -> str:
    return f"llmao-{uuid.uuid5(uuid.NAMESPACE_URL, f'row {number}')}" if has_our_form(text) else f"row-{number:02}"


# --- fingerprints ---------------------------------------------------------------------------------------------


def _prints(given: PassInput, decision: Decision, written: Iterable[dict[str, Any]], walker: Walker) -> dict[str, str]:
    """Old fingerprint -> that of the same body under neutral names, for every body that can be worked out."""
    whole = [body for body in written if own_print(body)]
    found = {own_print(body): own_print(walker.body(body)) for body in whole}
    for body in _wanted(given, decision):
        found[own_print(body)] = own_print(walker.body(body))
    return found


def _wanted(given: PassInput, decision: Decision) -> Iterator[dict[str, Any]]:
    """The bodies that a row of ours may have been written from, by what is wanted now."""
    intended = given.snapshots.intended.body or Intended()
    rows = given.snapshots.deployments.body.deployments if given.snapshots.deployments.body else ()
    models = {model.name: model for model in intended.models}
    records = {record.key: record for record in decision.view.records if record.origin != "none"}
    for server in (*intended.servers, *_discovered(intended, decision)):
        model = models.get(server.model)
        key = Key(address_url(server.host, server.listen_port), server.model)
        if model and model.self_hosted:
            yield from _of_box(key, server, model, records.get(key), rows)
    for model in intended.models:
        if not model.self_hosted:
            yield bodies.of_provider(Key(provider_url(str(model.params["api_base"])), model.name), model)


def _discovered(intended: Intended, decision: Decision) -> Iterator[Server]:
    for record in decision.view.records:
        if record.origin == "discovered" and record.listen_port is not None:
            key_hash = intended.discovered_key_hashes.get(box_name(record.key.url), "")
            yield Server(host=record.host, listen_port=record.listen_port, model=record.model, key_hash=key_hash)


def _of_box(
    key: Key, server: Server, model: Model, record: Record | None, rows: tuple[Deployment, ...]
) -> Iterator[dict[str, Any]]:
    own = [row for row in rows if row.id in (deployment_id(key), deployment_id(key, second=True))]
    urls = {row.asf_api_base for row in own} | {record.dialable_url if record else None}
    served = {row.model.partition("/")[2] for row in own} | {record.probe.served_id if record else "", ""}
    for url in sorted(filter(None, urls)):
        for each in sorted(served):
            yield bodies.of_box(key, server, model, url, served_id=each, instance="")
