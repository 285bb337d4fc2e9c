"""What people want in a living world: the configuration of one control plane, and what llmao reads of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from reconcile.identity import Key, address_url, box_name
from reconcile.inputs import Approval, HostLabel, Instance, Intended, Model, Server
from reconcile.settings import Settings

GPT = "https://api.acme.example/v1"


@dataclass(frozen=True)
class Wish:
    """A server that somebody wrote down."""

    host: str
    listen_port: int
    model: str
    pinned_port: int | None = None
    open_allowed: bool = False

    @property
    def key(self) -> Key:
        return Key(address_url(self.host, self.listen_port), self.model)


@dataclass
class Wishes:
    """config.yaml and models.yaml of one control plane. `names`: public name -> the name that boxes serve it under."""

    servers: dict[tuple[str, int], Wish] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=lambda: {"big": "big", "small": "small"})
    bought: dict[str, str] = field(default_factory=lambda: {"gpt": GPT})
    params: dict[str, Any] = field(default_factory=dict)
    providers: tuple[str, ...] = ("vast",)
    salt: int = 0
    settings: Settings = field(default_factory=Settings)
    invalid: bool = False

    def copy(self) -> Wishes:
        fields = {name: value for name, value in vars(self).items() if name not in ("servers", "names", "bought")}
        return Wishes(**fields, servers=dict(self.servers), names=dict(self.names), bought=dict(self.bought))

    def key_of(self, host: str, listen_port: int) -> str:
        """The hash of a server's key, which in this world is the key."""
        return f"key {self.salt} of {host}:{listen_port}"

    def rename(self, old: str, new: str) -> None:
        """A model gets another public name, and boxes are told to serve it under that."""
        del self.names[old]
        self.names[new] = new
        for place, wish in self.servers.items():
            if wish.model == old:
                self.servers[place] = replace(wish, model=new)

    def models(self) -> Iterator[Model]:
        for name, served in self.names.items():
            weights = f"org/{weights_of(name)}"
            params = {"model": f"hosted_vllm/{served}", **self.params}
            yield Model(name=name, self_hosted=True, params=params, weights=weights)
        for name, base in self.bought.items():
            yield Model(name=name, self_hosted=False, params={"model": f"openai/{name}", "api_base": base})

    def read(self, house: House) -> Intended:
        """What the source `intended` publishes."""
        return Intended(
            servers=tuple(self._servers(house.retired)),
            models=tuple(self.models()),
            labels=tuple(HostLabel(host=host, label="retired", at=0.0, by="ann") for host in sorted(house.retired)),
            approvals=tuple(house.approvals),
            discovered_key_hashes=dict(self._strangers(house)),
            drained=tuple(sorted(house.drained)),
            listings=self.providers,
            settings=self.settings,
        )

    def _servers(self, retired: set[str]) -> Iterator[Server]:
        for (host, port), wish in self.servers.items():
            if host not in retired:
                yield Server(
                    host=host,
                    listen_port=port,
                    model=wish.model,
                    pinned_port=wish.pinned_port,
                    key_hash=self.key_of(host, port),
                    open_allowed=wish.open_allowed,
                )

    def _strangers(self, house: House) -> Iterator[tuple[str, str]]:
        taken = {host for host, _ in self.servers} | house.retired
        for provider in self.providers:
            for instance in house.listed.get(provider, ()):
                if instance.host not in taken:
                    for port in sorted(instance.ports):
                        yield box_name(address_url(instance.host, port)), self.key_of(instance.host, port)


@dataclass
class House:
    """What is written in llmao's own database by people, whichever control plane reads it; `listed`: the instances
    that each provider's newest listing had."""

    retired: set[str] = field(default_factory=set)
    drained: set[Key] = field(default_factory=set)
    approvals: list[Approval] = field(default_factory=list)
    listed: dict[str, Iterable[Instance]] = field(default_factory=dict)


def weights_of(name: str) -> str:
    """The weights stay the same under any name: "small", "small2", "small3" are one model."""
    return name.rstrip("0123456789")
