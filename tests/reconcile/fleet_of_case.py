"""The fleet of a scenario: what its names and addresses mean, and the LiteLLM rows that llmao would write for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconcile import bodies
from reconcile.identity import Key, box_name, provider_url
from reconcile.inputs import Ended, Instance, Model, Server
from tests.reconcile.given_words import InstanceWords, ModelWords, ServerWords


def url(place: str) -> str:
    """ "203.0.113.10:8003" as the URL that is dialled."""
    return f"http://{place}"


def place_of(server: Server) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{host}:{server.listen_port}"


def server(words: str | ServerWords) -> Server:
    words = words if isinstance(words, ServerWords) else ServerWords(server=words)
    place, _, model = words.server.partition(" ")
    host, _, port = place.rpartition(":")
    return Server(
        host=host.strip("[]"),
        listen_port=int(port),
        model=model,
        label=words.label,
        pinned_port=words.pinned_port,
        origin=words.origin,  # type: ignore[arg-type]  # the decision copies it
        key_hash=f"key of {words.key or place}",
        open_allowed=words.open_allowed,
        legacy=words.legacy,
    )


def ended(name: str, at: float) -> Ended:
    """An approved server that config took over with its host."""
    place, _, model_name = name.partition("/")
    host, _, port = place.rpartition(":")
    return Ended(host=host, listen_port=int(port), model=model_name, at=at)


def model(words: str | ModelWords) -> Model:
    words = words if isinstance(words, ModelWords) else ModelWords(name=words)
    if words.base:
        params = {"model": f"openai/{words.name}", "api_base": words.base, **words.params}
    else:
        params = {"model": f"hosted_vllm/{words.serves or words.name}", **words.params}
    return Model(
        name=words.name,
        self_hosted=not words.base,
        params=params,
        info=words.info,
        weights=words.weights or ("" if words.base else f"org/{words.name}"),
        provider=words.provider,
        max_model_len=words.max_model_len,
        context_window=words.context_window,
    )


def instance(words: InstanceWords) -> Instance:
    return Instance(
        id=words.id, host=words.host, running=words.status == "running", status=words.status, ports=words.ports
    )


def _commercial_name(each: Model) -> str:
    return f"{each.provider or box_name(provider_url(each.params['api_base']))}/{each.name}"


@dataclass(frozen=True)
class Fleet:
    """The servers, models and rented instances that a scenario has told of so far."""

    servers: tuple[Server, ...]
    models: tuple[Model, ...]
    instances: dict[str, tuple[Instance, ...]]  # by provider

    def bought(self, name: str) -> Model | None:
        return next((each for each in self.models if not each.self_hosted and _commercial_name(each) == name), None)

    def key(self, name: str) -> Key:
        """The key that pages call `name`."""
        bought = self.bought(name)
        if bought:
            return Key(provider_url(bought.params["api_base"]), bought.name)
        place, slash, model_name = name.partition("/")
        if not slash or not place.rpartition(":")[2].isdigit():
            raise ValueError(f"{name!r} is neither host:port/model nor provider/model of this scenario")
        return Key(url(place), model_name)

    def key_hash(self, place: str) -> str:
        """The key that a "host:port" is given today; "" where nothing is intended."""
        return next((each.key_hash for each in self.servers if place_of(each) == place), "")

    def served(self, place: str) -> tuple[Model, ...]:
        """The models intended on a "host:port", in the order of the servers."""
        names = [each.model for each in self.servers if place_of(each) == place]
        return tuple(self.self_hosted(name) for name in names)

    def self_hosted(self, name: str) -> Model:
        return next((each for each in self.models if each.self_hosted and each.name == name), None) or model(name)

    def body(self, name: str, at: str, serving: str = "") -> dict[str, Any]:
        """What we would write for the key, dialled `at` a place, its box `serving` an id."""
        key, bought = self.key(name), self.bought(name)
        if bought:
            return bodies.of_provider(key, bought)
        place = name.partition("/")[0]
        own = next((each for each in self.servers if place_of(each) == place), None) or server(f"{place} {key.model}")
        wanted = self.self_hosted(key.model)
        return bodies.of_box(key, own, wanted, url(at or place), served_id=serving, instance=self._instance(own.host))

    def _instance(self, host: str) -> str:
        found = [
            f"{provider}:{each.id}"
            for provider, listed in sorted(self.instances.items())
            for each in listed
            if each.host == host
        ]
        return found[0] if len(found) == 1 else ""


def heard(answer: str) -> dict[str, Any]:
    """What a server that `answer`s so shows to a probe, as fields of `inputs.Probe`."""
    silent = {"health_status": None, "models_status": None, "wrong_key_status": None}
    if answer in ("refused", "reset", "timeout", "unreachable"):
        return {**silent, "failure": answer}
    if answer in ("page", "not json", "too large", "redirect"):
        return {"failure": answer.replace(" ", "_"), "wrong_key_status": None}
    if answer in ("ok", "open", "401"):
        return {"ok": {}, "open": {"wrong_key_status": 200}, "401": {"models_status": 401}}[answer]
    what, _, said = answer.rpartition(" ")
    if what == "wrong key never":
        return {"wrong_key_status": None}
    if what == "health":
        return {"health_status": int(said), "models_status": None, "wrong_key_status": None}
    if what == "models":
        return {"models_status": int(said)} if said.isdigit() else {**silent, "health_status": 200, "failure": said}
    if what == "wrong key":
        return {"wrong_key_status": int(said)}
    raise ValueError(f"no probe says {answer!r}")
