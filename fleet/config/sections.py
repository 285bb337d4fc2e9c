"""config.yaml, section by section."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, fields
from typing import Any, cast, get_args

from fleet.config import hosts
from fleet.config.field import Field
from fleet.config.report import Report
from fleet.config.section import Section
from fleet.config.shape import Fleet, LiteLLM, Network, Policy, RunPod, Vast
from reconcile.settings import Permission, PolicyKind

PERMISSIONS: tuple[str, ...] = get_args(Permission)
KINDS: tuple[PolicyKind, ...] = get_args(PolicyKind)
SECTIONS = ("fleet", "litellm", "policy", "server", "models_path")
POLICY = ("mode", *KINDS, "keep_last_row", "opinion_wait_s", "actions_per_pass")
LONGEST_WRITE_S = 45  # one write must end within the lease, which lasts 60 s


def names(shape: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(shape))


KNOWN = {"fleet": names(Fleet), "litellm": names(LiteLLM), "policy": POLICY, "server": ("trusted_proxies",)}


@dataclass(frozen=True)
class Sections:
    """What config.yaml says, but for the rows of hosts, which need models.yaml to be judged."""

    fleet: Fleet
    litellm: LiteLLM
    policy: Policy
    trusted_proxies: tuple[Network, ...]
    placed: list[hosts.Placed]


def read(report: Report, top: dict[str, Field]) -> Sections:
    fleet = _section(report, top, "fleet", "fleet: {key: …, vllm_api_salt: …}")
    server = _section(report, top, "server", "server: {trusted_proxies: []}")
    placed = hosts.read(fleet.get("hosts"), allow_private=_allow_private(fleet))
    return Sections(
        fleet=_fleet(fleet, placed),
        litellm=_litellm(_section(report, top, "litellm", "litellm: {base_url: …, master_key: …}")),
        policy=_policy(_section(report, top, "policy", "policy: {mode: act}")),
        trusted_proxies=_proxies(server.get("trusted_proxies")),
        placed=placed,
    )


def _section(report: Report, top: dict[str, Field], name: str, example: str) -> Section:
    others = {key: other for other, keys in KNOWN.items() if other != name for key in keys if key not in KNOWN[name]}
    return Section(report, name, top.get(name), known=KNOWN[name], example=example, elsewhere=others)


def _allow_private(section: Section) -> bool:
    return section.flag("allow_private_hosts", default=False)


def _fleet(section: Section, placed: list[hosts.Placed]) -> Fleet:
    durations = {each.name: section.seconds(each.name, cast("float", each.default)) for each in _durations()}
    private = _allow_private(section)
    fleet = Fleet(
        vllm_api_salt=section.required_secret("vllm_api_salt", "a long random text, from which all box keys come"),
        key=section.secret("key"),
        hosts=tuple(each.row for each in placed),
        selfhost_api_key=section.secret("selfhost_api_key"),
        legacy_servers=hosts.servers(section.get("legacy_servers"), allow_private=private),
        open_servers=hosts.servers(section.get("open_servers"), allow_private=private),
        allow_private_hosts=private,
        vast=_vast(section),
        runpod=_runpod(section),
        health_fail_threshold=section.whole("health_fail_threshold", Fleet.health_fail_threshold, 1000),
        **durations,
    )
    if fleet.legacy_servers and section.get("selfhost_api_key") is None:
        section.missing("selfhost_api_key", "the shared key that the servers of legacy_servers were started with")
    return fleet


def _durations() -> list[Any]:
    return [each for each in fields(Fleet) if each.name.endswith("_s")]


def _vast(fleet: Section) -> Vast | None:
    field = fleet.get("vast")
    if field is None:
        return None
    section = Section(fleet.report, "fleet.vast", field, known=names(Vast), example="vast: {api_key: …}")
    return Vast(
        api_key=section.required_secret("api_key", "Vast's API key, or remove the section"),
        base_url=section.url("base_url", Vast.base_url),
        page_wait_s=section.seconds("page_wait_s", Vast.page_wait_s, zero=True),
    )


def _runpod(fleet: Section) -> RunPod | None:
    field = fleet.get("runpod")
    if field is None:
        return None
    section = Section(fleet.report, "fleet.runpod", field, known=names(RunPod), example="runpod: {api_key: …}")
    return RunPod(
        api_key=section.required_secret("api_key", "RunPod's API key, or remove the section"),
        base_url=section.url("base_url", RunPod.base_url),
    )


def _litellm(section: Section) -> LiteLLM:
    base_url = section.url("base_url")
    if base_url.endswith("/v1"):
        section.fields["base_url"].wrong("ends in /v1: write the proxy's own address, as in http://127.0.0.1:4000")
    return LiteLLM(
        base_url=base_url,
        master_key=section.required_secret("master_key", "the master key of the LiteLLM proxy"),
        request_timeout_s=section.seconds("request_timeout_s", LiteLLM.request_timeout_s, most=LONGEST_WRITE_S),
        settle_s=section.seconds("settle_s", LiteLLM.settle_s),
    )


def _policy(section: Section) -> Policy:
    permissions = {kind: section.choice(kind, PERMISSIONS, "") for kind in KINDS}
    return Policy(
        mode=cast("Any", section.choice("mode", ("act", "observe"), "act")),
        permissions={kind: cast("Permission", said) for kind, said in permissions.items() if said},
        keep_last_row=section.flag("keep_last_row", Policy.keep_last_row),
        opinion_wait_s=section.seconds("opinion_wait_s", Policy.opinion_wait_s, zero=True),
        actions_per_pass=section.whole("actions_per_pass", Policy.actions_per_pass, 10_000),
    )


def _proxies(field: Field | None) -> tuple[Network, ...]:
    items = field.items("[127.0.0.1, 10.0.0.0/8]") if field else []
    return tuple(network for network in map(_proxy, items) if network)


def _proxy(field: Field) -> Network | None:
    what = "an address or a network, as in 10.0.0.0/8"
    text = field.text(what)
    try:
        interface = ipaddress.ip_interface(text) if text else None
    except ValueError:
        field.expected(what)
        return None
    if interface is None:
        return None
    if interface.network.prefixlen == 0:
        field.wrong("would believe an X-Forwarded-For from anybody: name the proxy's own network")
    elif interface.ip != interface.network.network_address:
        field.wrong(f"{text} is an address inside a network: write {interface.network}, or the address alone")
    return interface.network
