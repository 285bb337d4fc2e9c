"""The world as synchronous tests hold it.

    with running_world(Rules(load_s=0.5)) as world:
        write_config(vast=world.vast_url, litellm=world.litellm_urls[0])
        world.llmao_url = start_llmao()
        box = world.rent("127.1.0.10", [8003])      # asks for its config, loads, serves
        world.until(lambda: box.state(8003) == "serving")
        world.remap("127.1.0.10", 8003)
        box.die()
        box.come_back()

Every method returns when it has happened. What llmao makes of it comes later: wait for that with `world.until`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from sim.background import LoopThread
from sim.box import Box, Misbehaviour
from sim.litellm import LiteLLM
from sim.runpod import Pod, RunPodAPI
from sim.vast import Instance, VastAPI
from sim.world import Model, Provider, Rules, World


class HeldBox:
    """One box, from another thread than its own."""

    def __init__(self, box: Box, background: LoopThread) -> None:
        self._box, self._background = box, background
        self.host = box.host

    @property
    def public_ports(self) -> dict[int, int]:
        """Listen port → public port."""
        return dict(self._box.ports)

    @property
    def alive(self) -> bool:
        return self._box.alive

    @property
    def last_answer(self) -> int | str | None:
        """Status of its last GET /vllm/config, or why there was no answer; None before the first."""
        return self._box.last_answer

    @property
    def revision(self) -> str | None:
        """Of the config it runs."""
        return self._box.revision

    def state(self, listen: int) -> str | None:
        """ "loading", "serving" or "crashed"; None while config names nothing on that port."""
        server = self._box.servers.get(listen)
        return server.state if server else None

    def requests(self, listen: int, path: str) -> int:
        """How often a path of that server was asked for since it was last loaded."""
        return self._box.servers[listen].vllm.requests[path]

    def die(self) -> None:
        """Connections drop and nothing listens; the provider goes on listing it as running."""
        self._background.run(self._box.die())

    def come_back(self) -> None:
        """It asks and loads again."""
        self._background.run(self._box.come_up())

    def start_asking(self) -> None:
        """For a box rented with `asks=False`: from now on it asks for its config."""
        self._background.run(self._box.start_asking())

    def crash(self, listen: int) -> None:
        """One server dies; the box goes on asking for its config."""
        self._background.run(self._box.crash(listen))

    def hang(self, hung: bool = True) -> None:
        """Its servers accept connections and never answer."""
        self._behave(hung=hung)

    def open_up(self, is_open: bool = True) -> None:
        """Its servers take any key."""
        self._behave(open=is_open)

    def refuse(self, rate: float) -> None:
        """That share of all requests gets a 503, evenly spread."""
        self._behave(refuse_rate=rate)

    def answer_health_with(self, status: int) -> None:
        self._behave(health_status=status)

    def serve_as(self, listen: int, served_id: str) -> None:
        """Its /v1/models lists another id of the same weights, and completions take only that one."""
        self._behave(served_ids={**self._box.ways.served_ids, listen: served_id})

    def _behave(self, **ways: bool | float | dict[int, str]) -> None:
        changed: Misbehaviour = replace(self._box.ways, **ways)  # type: ignore[arg-type]  # checked by the callers above

        async def behave() -> None:
            self._box.behave(changed)

        self._background.run(behave())


class HeldWorld:
    def __init__(self, world: World, background: LoopThread) -> None:
        self._world, self._background = world, background

    @property
    def llmao_url(self) -> str | None:
        """Where boxes ask for their config, "http://127.0.0.1:PORT"; until it is set they do not ask."""
        return self._world.llmao_url

    @llmao_url.setter
    def llmao_url(self, url: str | None) -> None:
        self._world.llmao_url = url

    @property
    def rules(self) -> Rules:
        """May be changed: boxes that come later follow."""
        return self._world.rules

    @property
    def vast(self) -> VastAPI:
        """To set faults on; its fields may be changed from here."""
        return self._world.vast

    @property
    def vast_url(self) -> str:
        return self._world.vast.base_url

    @property
    def runpod(self) -> RunPodAPI:
        """As `vast`."""
        return self._world.runpod

    @property
    def runpod_url(self) -> str:
        return self._world.runpod.base_url

    @property
    def litellms(self) -> list[LiteLLM]:
        """The stand-in's replicas: `.faults`, `.writes`, `.rows()`."""
        return self._world.litellms

    @property
    def litellm_urls(self) -> list[str]:
        return [each.base_url for each in self._world.litellms]

    def hosts(self) -> list[str]:
        """The addresses of all boxes, dead ones too."""
        return list(self._world.boxes)

    def box(self, host: str) -> HeldBox:
        return HeldBox(self._world.boxes[host], self._background)

    def rent(
        self,
        host: str,
        ports: Mapping[int, int] | Iterable[int],
        *,
        asks: bool = True,
        provider: Provider = "vast",
    ) -> HeldBox:
        """A rented box: listed, and (unless `asks` is false) asking for its config. See World.rent."""
        rented = self._world.rent(host, ports, asks=asks, provider=provider)
        return HeldBox(self._background.run(rented), self._background)

    def own_box(self, host: str, *, asks: bool = True) -> HeldBox:
        """A box that no provider lists."""
        return HeldBox(self._background.run(self._world.own_box(host, asks=asks)), self._background)

    #: A box that config does not know presents the fleet key like any other: nothing about it differs but config.
    unknown_box = rent

    def serve_at_once(self, host: str, models: Mapping[int, Model]) -> HeldBox:
        """A rented box that serves now, without asking. See World.serve_at_once."""
        return HeldBox(self._background.run(self._world.serve_at_once(host, models)), self._background)

    def instance(self, host: str) -> Instance:
        """Its entry in Vast's listing; change the fields (or call `.stop()`) and the next listing follows."""
        return self._world.instance(host)

    def pod(self, host: str) -> Pod:
        """Its entry in RunPod's listing, as `instance`."""
        return self._world.pod(host)

    def remap(self, host: str, listen: int, public: int | None = None) -> int:
        """Move a port, in the listing and in fact; the new public port."""
        return self._background.run(self._world.remap(host, listen, public))

    def reset(self, host: str) -> dict[int, int]:
        """Restart a RunPod box under new public ports, which its listing shows late; the ports, by listen port."""
        return self._background.run(self._world.reset(host))

    def replace(self, host: str) -> None:
        """A new instance id at the same address; the box restarts."""
        self._background.run(self._world.replace(host))

    def destroy(self, host: str) -> None:
        """Dead, and in no listing."""
        self._background.run(self._world.destroy(host))

    def commercial(self, served_id: str, api_key: str) -> str:
        """A commercial provider that serves one model; its base, with /v1."""
        return self._background.run(self._world.commercial(served_id, api_key))

    def complete(self, model: str) -> str:
        """What a chat completion through the stand-in answers: its text, or LiteLLM's error."""
        return self._background.run(self._world.complete(model))

    def until(self, holds: Callable[[], object], timeout_s: float = 60.0) -> None:
        """Wait until `holds()` is true. TimeoutError, with the world's state, when it never is."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not so within {timeout_s:g} s; the world: {self._world.state()}")
            time.sleep(0.05)


@contextmanager
def running_world(rules: Rules | None = None, *, llmao_url: str | None = None) -> Iterator[HeldWorld]:
    """A world in a thread of its own; everything in it has ended when the block has."""
    with LoopThread("world") as background:
        world = World(replace(rules or Rules()), llmao_url)  # a copy: `world.rules` may be changed for later boxes
        background.run(world.start())
        try:
            yield HeldWorld(world, background)
        finally:
            background.run(world.stop(), timeout_s=60)
