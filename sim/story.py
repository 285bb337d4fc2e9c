"""What happens in the demo, told in one line a step, with what LiteLLM made of it.

The story changes the world and looks at LiteLLM's rows; it never asks llmao. What it tells has been seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sim.held import HeldWorld

TWIN, PAIR, FRAIL, STRANGER = "127.1.0.11", "127.1.0.12", "127.1.0.13", "127.1.0.66"
SMALL, LARGE, BOUGHT = "qwen3-8b", "gemma4-26b", "sonata-large"
#: config.yaml's fleet.hosts: [model, listen port] and, for one, a label.
HOSTS: dict[str, list[list[str | int]]] = {
    TWIN: [[SMALL, 8003]],
    PAIR: [[SMALL, 8003], [LARGE, 8001]],
    FRAIL: [[SMALL, 8003, "the frail one"]],
}
NOTHING_ASSIGNED = 404  #: what a box is answered that is retired, or unknown
LISTEN = {TWIN: [8003], PAIR: [8003, 8001], FRAIL: [8003], STRANGER: [8001, 8002]}


class Pause(Protocol):
    def __call__(self, seconds: float) -> None:
        """Let time pass; raises whatever ends the story."""


@dataclass
class Story:
    """`say` prints one line. `pace` stretches every pause (tests: 0.01); `patience_s` is how long a step is watched."""

    world: HeldWorld
    say: Callable[[str], None]
    pause: Pause
    pace: float = 1.0
    patience_s: float = 90.0

    # -- seeing

    def _addresses(self, host: str) -> list[str]:
        """Where LiteLLM sends traffic for this box."""
        rows = self.world.litellms[0].rows().values()
        return [row.api_base for row in rows if row.api_base.startswith(f"http://{host}:")]

    def _watch(self, holds: Callable[[], bool], seen: str | Callable[[], str], missed: str) -> None:
        """Tell `seen` once it holds, or `missed`. A story that is not llmao's to end goes on."""
        left = self.patience_s
        while not holds() and left > 0:
            self.pause(0.25)
            left -= 0.25
        happened = seen if isinstance(seen, str) else seen()
        self.say(happened if holds() else f"{missed} after {self.patience_s:.0f} s; look at the page for the reason")

    def _wait(self, seconds: float) -> None:
        self.pause(seconds * self.pace)

    # -- the first two minutes

    def begin(self) -> None:
        """Boxes are rented and silent: Vast lists them, and llmao waits for them to ask."""
        for host in HOSTS:
            self.world.rent(host, LISTEN[host], asks=False)
        self.say(f"{len(HOSTS)} boxes are rented and have not asked for their configuration yet: Awaiting")

    def commercial_row(self) -> None:
        self._watch(
            lambda: BOUGHT in [row.model_name for row in self.world.litellms[0].rows().values()],
            f"{BOUGHT}, a commercial model, is in LiteLLM: its row needs no box",
            f"{BOUGHT} is not in LiteLLM",
        )

    def boxes_ask_and_load(self) -> None:
        self._wait(14)
        for host in HOSTS:
            self.world.box(host).start_asking()
        self.say(f"the boxes ask what to run, and load it for {self.world.rules.load_s:.0f} s: Loading")

    def boxes_serve(self) -> None:
        expected = sum(len(rows) for rows in HOSTS.values())
        self._watch(
            lambda: sum(len(self._addresses(host)) for host in HOSTS) == expected,
            f"they serve, and LiteLLM has {expected} deployments of them: Healthy",
            f"LiteLLM does not have all {expected} deployments",
        )
        self.complete(SMALL)

    def complete(self, model: str) -> None:
        answer = self.world.complete(model)
        self.say(f"a chat completion for {model} through LiteLLM: {answer!r}")

    def port_moves(self, host: str = TWIN) -> None:
        self._wait(8)
        old, had = self.world.box(host).public_ports[8003], self._addresses(host)
        new = self.world.remap(host, 8003)
        self.say(f"Vast maps {host}:8003 to {new} now, no longer to {old}")
        if not had:
            self.say(f"LiteLLM had no deployment of {host}, so nothing has to follow")
            return
        self._watch(
            lambda: self._addresses(host) == [f"http://{host}:{new}/v1"],
            f"LiteLLM's deployment of {host}:8003 follows to {new}, under its old id",
            f"the deployment of {host}:8003 has not followed",
        )

    def box_dies(self, host: str = FRAIL) -> None:
        self._wait(8)
        had = self._addresses(host)
        self.world.box(host).die()
        self.say(f"{host} dies; Vast still lists it as running")
        if not had:
            self.say(f"LiteLLM had no deployment of {host}, so nothing has to go")
            return
        self._watch(
            lambda: not self._addresses(host),
            f"the deployment of {host} is gone; Unhealthy on the page means: its probes failed and LiteLLM agreed",
            f"the deployment of {host} is still there",
        )

    def stranger_asks(self) -> None:
        self._wait(8)
        self.world.unknown_box(STRANGER, LISTEN[STRANGER])
        self.say(f"{STRANGER}, which config.yaml does not know, presents the fleet key: Work needed has an Approve")

    def box_returns(self, host: str = FRAIL) -> None:
        self._wait(15)
        box = self.world.box(host)
        box.come_back()
        self.say(f"{host} is back and asks what to run")
        self._watch(
            lambda: bool(self._addresses(host)) or box.last_answer == NOTHING_ASSIGNED,
            lambda: "its deployment is back" if self._addresses(host) else f"llmao assigns nothing to {host} now",
            f"the deployment of {host} is not back",
        )

    def tell(self) -> None:
        """From the first box to the last, in about two minutes."""
        self.commercial_row()
        self.boxes_ask_and_load()
        self.boxes_serve()
        self.port_moves()
        self.complete(SMALL)
        self.box_dies()
        self.stranger_asks()
        self.box_returns()

    def go_on(self) -> None:
        """Until the pause ends it: now and then a port moves, or a box goes away for a while."""
        self.say("from here on something small happens every minute, until Ctrl-C")
        for moved, dead in itertools.cycle([(PAIR, TWIN), (TWIN, FRAIL), (FRAIL, PAIR)]):
            self._wait(60)
            self.port_moves_of_all(moved)
            self._wait(60)
            self.box_dies(dead)
            self.box_returns(dead)

    def port_moves_of_all(self, host: str) -> None:
        old, had = self.world.box(host).public_ports, self._addresses(host)
        moved = {listen: self.world.remap(host, listen) for listen in LISTEN[host]}
        followed = [public for listen, public in moved.items() if f"http://{host}:{old[listen]}/v1" in had]
        expected = sorted(f"http://{host}:{public}/v1" for public in followed)
        self.say(f"Vast maps the ports of {host} anew: {', '.join(f'{a} to {b}' for a, b in moved.items())}")
        if not expected:
            self.say(f"LiteLLM had no deployment of {host} at the old ports, so none has to follow")
            return
        self._watch(
            lambda: sorted(self._addresses(host)) == expected,
            f"LiteLLM's deployments of {host} follow",
            f"the deployments of {host} have not followed",
        )
