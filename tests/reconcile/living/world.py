"""A living world: boxes, providers, LiteLLM, people and llmao, on one clock that only moves when it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from reconcile.identity import Key
from reconcile.inputs import Approval
from reconcile.view import Action
from tests.reconcile.living.boxes import Box, Boxes, Program
from tests.reconcile.living.plane import CLOCKS, LEASE_S, Passed, Plane
from tests.reconcile.living.proxy import Row
from tests.reconcile.living.watch import Watch
from tests.reconcile.living.wishes import Wish, Wishes, weights_of

START = 1_000_000.0
A, B, C, D, E = "203.0.113.10", "203.0.113.20", "198.51.100.4", "203.0.113.40", "198.51.100.40"
PROVIDERS = {A: "vast", B: "vast", C: "", D: "vast", E: "runpod"}
PORTS = {A: (8001, 8003), B: (8001,), C: (8001,), D: (8001,), E: (8001,)}
PLACES = tuple((host, port) for host, ports in PORTS.items() for port in ports)


@dataclass
class Turns:
    """Two control planes that take turns: the other's wishes, and how long a turn lasts."""

    other: Wishes
    each_s: float
    next_at: float


class World:
    """`wish`, `boot` and the other verbs are what people, boxes and networks do; `pass_time` lets llmao work."""

    def __init__(self, wishes: Wishes, replicas: int) -> None:
        self.truth = Boxes()
        self.plane = Plane(START, wishes, self.truth, replicas)
        self.watch = Watch(self.plane)
        self.due = dict.fromkeys(CLOCKS, START)
        self.turns: Turns | None = None
        self.running = True
        self.ids = count(1)
        self.public = count(40001)
        self.blocked_by_hand: set[str] = set()

    # --- time -----------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float) -> None:
        """Let the clock run on; every source is read on its own clock, and each reading wakes the loop."""
        plane, end = self.plane, self.plane.now + seconds
        while self.running and (at := min(self.due.values())) <= end:
            plane.now = max(plane.now, at)
            for name, interval_s in CLOCKS.items():
                if self.due[name] <= plane.now:
                    plane.fetch(name)
                    self.due[name] = max(self.due[name] + interval_s, plane.now)
            self._take_turns()
            plane.run()
        plane.now = max(plane.now, end)
        if not self.running:
            self.due = dict.fromkeys(self.due, plane.now)

    def fetch_now(self, name: str) -> None:
        """One reading more than the timetable has."""
        self.plane.fetch(name)
        self.plane.run()

    def _take_turns(self) -> None:
        turns, plane = self.turns, self.plane
        if turns is None or plane.now < turns.next_at:
            return
        plane.wishes, turns.other = turns.other, plane.wishes
        turns.next_at = plane.now + turns.each_s
        if plane.history and plane.now - plane.history.passed_at < LEASE_S:
            plane.other_configuration_at = plane.now
        plane.fetch("intended")

    def edited(self) -> None:
        """A change of what people wrote wakes the source at once."""
        self.plane.fetch("intended")
        self.plane.run()

    # --- boxes ----------------------------------------------------------------------------------------------------

    def rent(self, host: str) -> Box:
        """A new instance on a host, with nothing running in it."""
        provider = PROVIDERS[host]
        ports = {port: port if not provider else next(self.public) for port in PORTS[host]}
        box = Box(provider, f"i{next(self.ids)}", host, ports)
        self.truth.all.append(box)
        return box

    def boot(self, box: Box) -> None:
        """The box fetches its config and starts what it is told to."""
        wishes = self.plane.wishes
        self.plane.contact(box.host)
        box.running = True
        box.programs = {
            port: Program(wishes.names[wish.model], f"org/{weights_of(wish.model)}", wishes.key_of(host, port))
            for (host, port), wish in wishes.servers.items()
            if host == box.host and port in box.ports and host not in self.plane.house.retired
        }

    def serve(self, box: Box, listen_port: int, name: str) -> None:
        """Somebody starts a server by hand, with the key that llmao would give it."""
        wishes = self.plane.wishes
        key = wishes.key_of(box.host, listen_port)
        box.programs[listen_port] = Program(wishes.names.get(name, name), f"org/{weights_of(name)}", key)

    def remap(self, box: Box) -> None:
        """The provider maps every listen port anew."""
        if box.provider:
            box.ports = {listen: next(self.public) for listen in box.ports}

    # --- people ---------------------------------------------------------------------------------------------------

    def wish(self, host: str, port: int, model: str) -> None:
        self.plane.wishes.servers[host, port] = Wish(host, port, model)

    def approve(self, action: Action) -> None:
        approval = Approval(digest=action.digest, kind=action.kind, key=action.key, at=self.plane.now, by="ann")
        self.plane.house.approvals.append(approval)
        self.edited()

    def by_hand(self, name: str, api_base: str, model: str, key: str, *, db_model: bool = True) -> Row:
        """Somebody adds a row in LiteLLM, not through llmao."""
        return Row(
            f"hand-{next(self.ids)}",
            name,
            {"model": f"hosted_vllm/{model}", "api_base": api_base, "api_key": key},
            {},
            db_model=db_model,
        )

    # --- llmao ----------------------------------------------------------------------------------------------------

    def restart(self) -> None:
        """llmao was away for longer than a history is kept."""
        self.plane.history = None
        self.plane.asleep_until = 0.0

    def last(self) -> Passed | None:
        return self.watch.last

    def keys(self) -> list[Key]:
        return [wish.key for wish in self.plane.wishes.servers.values()]
