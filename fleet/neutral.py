"""A pass's input with everything replaced that tells whose fleet it is: addresses, secrets' hashes, labels, people,
instance ids, sentences from outside. What is replaced by what is the same all through, so the decision is the same.

Every field of every struct of an input has its rule in `FIELDS`; one without a rule is an error, not a leak.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from fleet.neutral_fields import FIELDS
from reconcile.bodies import fingerprint
from reconcile.identity import Key, address_url, provider_url

NOW = 1_000_000_000.0  # when a replaced pass took place; so large that no time before it becomes negative
Rename = Callable[[str, str], str]  # (what kind of name, the name) -> what stands for it
NOT_RENAMED = frozenset({"mode", "llmao_params"})  # of model_info: LiteLLM's own words, and names of parameters


class Unclassified(Exception):
    """A field that nobody said of whether it may be shown."""


class Walker:
    """Walks an input, replacing names by `rename` and moving times by `now` to NOW."""

    def __init__(self, rename: Rename, now: float, at: float = NOW) -> None:
        self.rename = rename
        self.now, self.at = now, at
        self.keys: set[Key] = set()  # every key that was met
        self.bodies: list[dict[str, Any]] = []  # every body of a write that was met

    def of(self, value: Any) -> Any:
        """A struct, or a tuple or mapping of structs."""
        if isinstance(value, tuple):
            return tuple(map(self.of, value))
        if isinstance(value, dict):
            return {name: self.of(each) for name, each in value.items()}
        return self._struct(value) if isinstance(value, msgspec.Struct) else value

    def _struct(self, value: msgspec.Struct) -> Any:
        if isinstance(value, Key):
            self.keys.add(value)
        rules = FIELDS.get(type(value).__name__, {})
        if missing := set(value.__struct_fields__) - set(rules):
            raise Unclassified(f"{type(value).__name__}.{min(missing)} has no rule in fleet/neutral_fields.py")
        told = [name for name in value.__struct_fields__ if rules[name] != "keep"]
        changed = {name: self._apply(rules[name], getattr(value, name)) for name in told}
        return replace(value, **changed)

    def _apply(self, rule: str, value: Any) -> Any:
        if isinstance(value, tuple) and rule != "of":
            return tuple(self._apply(rule, each) for each in value)
        if value is None or value == "":
            return value
        return getattr(self, rule)(value)

    # --- one method a rule ------------------------------------------------------------------------------------

    def time(self, at: float) -> float:
        """Exact: both are multiples of the same power of two. 0 stands for never."""
        return self.at + (at - self.now) if at else at

    def host(self, text: str) -> str:
        return self.rename("host", text)

    def place(self, text: str) -> str:
        """`host:port`."""
        host, port = self._host_and_port(f"http://{text}")
        return address_url(self.host(host), port).removeprefix("http://")

    def url(self, text: str) -> str:
        """A box's address with its host replaced, or a provider's base; what normal forms leave out stays."""
        base = provider_url(text)
        rest = text.strip()[len(base) :] if text.strip().lower().startswith(base.lower()) else ""
        if _of_box(base):
            host, port = self._host_and_port(base)
            return address_url(self.host(host), port).replace("http", urlsplit(base).scheme, 1) + rest
        return self.rename("base", base) + rest

    def _host_and_port(self, url: str) -> tuple[str, int]:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or 0

    def name(self, text: str) -> str:
        """A model's name or weights."""
        return self.rename("name", text)

    def serving(self, text: str) -> str:
        """`provider/name`, as in litellm_params.model."""
        provider, slash, served = text.partition("/")
        return f"{provider}/{self.name(served)}" if slash else self.name(text)

    def row(self, text: str) -> str:
        return self.rename("row", text)

    def instance(self, text: str) -> str:
        return self.rename("instance", text)

    def placement(self, text: str) -> str:
        """`provider:instance`."""
        provider, colon, identifier = text.partition(":")
        return f"{provider}:{self.instance(identifier)}" if colon else self.instance(text)

    def label(self, text: str) -> str:
        return self.rename("label", text)

    def person(self, text: str) -> str:
        return self.rename("person", text)

    def revision(self, text: str) -> str:
        return self.rename("revision", text)

    def words(self, text: str) -> str:
        return self.rename("sentence", text)

    def hash(self, text: str) -> str:
        return self.rename("hash", text)

    def digest(self, text: str) -> str:
        return self.rename("digest", text)

    def printed(self, text: str) -> str:
        return self.rename("print", text)

    def hashes(self, value: dict[str, str]) -> dict[str, str]:
        """`host:port` -> hash."""
        return {self.place(name): self.hash(each) for name, each in value.items()}

    def nothing(self, value: Any) -> Any:
        """What no decision reads: emptied."""
        return type(value)() if isinstance(value, dict) else None

    def body(self, value: dict[str, Any]) -> dict[str, Any]:
        """The body of a write; one that carries its own fingerprint carries it afterwards too."""
        self.bodies.append(value)
        own = own_print(value)
        info = {name: inner for name, inner in value.get("model_info", {}).items() if not own or name != "llmao_body"}
        found: dict[str, Any] = self.json({**value, "model_info": info} if own else value)
        if own:
            found["model_info"]["llmao_body"] = fingerprint(found)
        return found

    def json(self, value: Any, name: str = "") -> Any:
        """Parameters and model_info: numbers stay, and every text is replaced by what its name says it is."""
        if isinstance(value, dict):
            if set(value) == {"secret"}:
                return {"secret": self.hash(value["secret"])}
            return {each: self.json(inner, each) for each, inner in value.items()}
        if isinstance(value, list | tuple):
            return value if name in NOT_RENAMED else [self.json(inner, name) for inner in value]
        if not isinstance(value, str) or not value or name in NOT_RENAMED:
            return value
        rule = BY_NAME.get(name)
        return getattr(self, rule)(value) if rule else self.rename("word", value)


BY_NAME = {
    "model": "serving",
    "model_name": "name",
    "api_base": "url",
    "id": "row",
    "llmao_key": "url",
    "asf_api_base": "url",
    "llmao_body": "printed",
    "llmao_instance": "placement",
}


def own_print(body: dict[str, Any]) -> str:
    """The fingerprint that a body carries, when it is its own; "" otherwise."""
    info = body.get("model_info")
    carried = info.get("llmao_body") if isinstance(info, dict) else None
    return str(carried) if carried and carried == fingerprint(body) else ""


def _of_box(base: str) -> bool:
    """Whether a URL in normal form is nothing but an IP address and a port."""
    try:
        parts = urlsplit(base)
        ipaddress.ip_address(parts.hostname or "")
        return bool(parts.port) and parts.path == "" and parts.scheme in ("http", "https") and "@" not in parts.netloc
    except ValueError:
        return False
