"""The boxes of a living world as they really are: instances, the servers in them, and who can reach whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from reconcile.identity import address_url, host_of, port_of
from reconcile.inputs import Instance, ListedModel, Probe
from reconcile.view import Target

Asker = Literal["llmao", "litellm"]
SILENT = {"refused", "timeout"}


@dataclass
class Program:
    """A vLLM server: the id and the weights it lists, the key it takes, and its mood: "up", "refused", "timeout",
    "503", "page" or "one in four" (of the times that it is asked, it answers every fourth)."""

    serves: str
    weights: str
    key: str
    mood: str = "up"
    takes_any_key: bool = False
    asked: int = 0

    def mood_now(self) -> str:
        if self.mood != "one in four":
            return self.mood
        self.asked += 1
        return "up" if self.asked % 4 == 0 else "timeout"

    def takes(self, key: str | None) -> bool:
        return self.takes_any_key or key == self.key


@dataclass
class Box:
    """One instance on a host; `provider` is "" for a box of one's own. `ports`: listen to public."""

    provider: str
    id: str
    host: str
    ports: dict[int, int]
    programs: dict[int, Program] = field(default_factory=dict)
    running: bool = True

    def listed(self) -> Instance:
        status = "running" if self.running else "exited"
        ports = dict(self.ports) if self.running else {}
        return Instance(id=self.id, host=self.host, running=self.running, status=status, ports=ports)

    def at(self, public_port: int) -> Program | None:
        if not self.running:
            return None
        return next((self.programs.get(listen) for listen, public in self.ports.items() if public == public_port), None)


class Boxes:
    """All boxes, and the hosts that somebody cannot reach."""

    def __init__(self) -> None:
        self.all: list[Box] = []
        self.cut: dict[Asker, set[str]] = {"llmao": set(), "litellm": set()}

    def on(self, host: str) -> list[Box]:
        return [each for each in self.all if each.host == host]

    def at(self, url: str) -> Program | None:
        """The server that answers at a dialable URL, whoever asks."""
        found = (box.at(port_of(url)) for box in self.on(host_of(url)))
        return next((each for each in found if each is not None), None)

    def leads_to(self, url: str, canonical: str) -> bool:
        """Whether a dialable URL ends at the listen port that a canonical URL names."""
        host, public, listen = host_of(url), port_of(url), port_of(canonical)
        own = (box.ports.get(listen) == public for box in self.on(host) if box.running and listen in box.programs)
        return host == host_of(canonical) and any(own)

    def mood(self, asker: Asker, url: str) -> str:
        """How the server at a URL answers this asker now."""
        if host_of(url) in self.cut[asker]:
            return "timeout"
        program = self.at(url)
        return program.mood_now() if program else "refused"

    def works(self, asker: Asker, url: str, key: str | None, model: str, *, asking: bool = True) -> bool:
        """Whether a completion sent now would be answered. Without `asking` nobody asks, and a box that answers one
        time in four does not count."""
        program = self.at(url)
        if program is None or not program.takes(key) or program.serves != model:
            return False
        if asking:
            return self.mood(asker, url) == "up"
        return program.mood == "up" and host_of(url) not in self.cut[asker]


def probed(boxes: Boxes, target: Target, key: str, at: float, before: Probe | None) -> Probe:
    """What llmao's prober would note of this server."""
    mood, program = boxes.mood("llmao", target.url), boxes.at(target.url)
    last = before.last_answered_at if before and before.url == target.url else None
    facts: dict[str, Any] = {"last_answered_at": last}
    if mood in SILENT or program is None:
        facts |= {"failure": "timeout" if mood == "timeout" else "refused"}
    elif mood == "503":
        facts |= {"health_status": 503}
    elif mood == "page":
        facts |= {"health_status": 200, "models_status": 200, "failure": "page"}
    elif not program.takes(key):
        facts |= {"health_status": 200, "models_status": 401}
    else:
        wrong = 200 if program.takes_any_key else 401
        facts |= {"health_status": 200, "models_status": 200, "last_answered_at": at}
        facts |= {"wrong_key_status": wrong, "wrong_key_at": at, "listed": (_row(program),)}
    return Probe(base=target.base, url=target.url, at=at, key_hash=key, **facts)


def _row(program: Program) -> ListedModel:
    return ListedModel(id=program.serves, root=program.weights, max_model_len=32768)


def own_url(box: Box, listen_port: int) -> str | None:
    """Where the server of a listen port can be reached; None while it cannot."""
    public = box.ports.get(listen_port)
    return address_url(box.host, public) if box.running and public is not None else None
