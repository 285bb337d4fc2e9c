"""The simulated world: listings of Vast and RunPod, boxes, a commercial provider, LiteLLM replicas in one event loop.

`World` belongs to that loop. Tests hold it through `sim.held.running_world`, whose methods are synchronous.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp

from sim.box import Box, Clocks, free_port
from sim.litellm import LiteLLM, Store
from sim.runpod import API_KEY as RUNPOD_KEY
from sim.runpod import Pod, RunPodAPI
from sim.vast import API_KEY, Instance, VastAPI
from sim.vllm import VLLM, Listener

FLEET_KEY = "sk-fleet-made-up-key"
#: (host, listen port) → the key that llmao gives that server.
DeriveKey = Callable[[str, int], str]
Provider = Literal["vast", "runpod"]


@dataclass
class Rules:
    """What is the same for the whole world. Times in seconds."""

    fleet_key: str = FLEET_KEY
    vast_key: str = API_KEY
    runpod_key: str = RUNPOD_KEY
    runpod_lag_s: float = 2.0  #: how long RunPod's listing shows the ports that a pod had before its reset
    load_s: float = 2.0
    ask_s: float = 1.0
    litellm_replicas: int = 1
    litellm_poll_s: float = 2.0
    derive_key: DeriveKey | None = None


@dataclass(frozen=True)
class Model:
    """What a box runs without asking: for `serve_at_once`."""

    served_id: str
    weights: str
    max_model_len: int = 32768


@dataclass
class World:
    rules: Rules = field(default_factory=Rules)
    llmao_url: str | None = None  #: may be set later: boxes ask as soon as it is
    boxes: dict[str, Box] = field(default_factory=dict)
    litellms: list[LiteLLM] = field(default_factory=list)
    upstreams: list[Listener] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.vast = VastAPI(self.rules.vast_key)
        self.runpod = RunPodAPI(self.rules.runpod_key)
        self._ids = itertools.count(31400000)

    async def start(self) -> None:
        await self.vast.start()
        await self.runpod.start()
        store = Store()
        for _ in range(self.rules.litellm_replicas):
            replica = LiteLLM(store, poll_s=self.rules.litellm_poll_s)
            await replica.start()
            self.litellms.append(replica)

    async def stop(self) -> None:
        for each in self.boxes.values():
            await each.die()
        await asyncio.gather(*(each.close() for each in self.upstreams), *(each.stop() for each in self.litellms))
        await self.vast.stop()
        await self.runpod.stop()

    # -- boxes

    def _box(self, host: str, ports: Mapping[int, int], *, rented: bool) -> Box:
        if host in self.boxes:
            raise ValueError(f"there is a box at {host} already")
        box = Box(
            host,
            llmao_url=lambda: self.llmao_url,
            fleet_key=self.rules.fleet_key,
            ports=dict(ports),
            rented=rented,
            clocks=Clocks(self.rules.load_s, self.rules.ask_s),
        )
        self.boxes[host] = box
        return box

    async def rent(
        self,
        host: str,
        ports: Mapping[int, int] | Iterable[int],
        *,
        asks: bool = True,
        provider: Provider = "vast",
    ) -> Box:
        """A box of the provider's, in its listing from now on.

        `ports`: listen → public, or just the listen ports, which then get free public ones.
        """
        mapped = dict(ports) if isinstance(ports, Mapping) else {listen: free_port(host) for listen in ports}
        box = self._box(host, mapped, rented=True)
        if provider == "runpod":
            self.runpod.add(Pod(f"pod{next(self._ids)}x", host, box.ports))
        else:
            self.vast.add(Instance(next(self._ids), host, box.ports))
        box.asks = asks
        await box.come_up()
        return box

    async def own_box(self, host: str, *, asks: bool = True) -> Box:
        """A box that no provider lists: its public ports are its listen ports."""
        box = self._box(host, {}, rented=False)
        box.asks = asks
        await box.come_up()
        return box

    async def serve_at_once(self, host: str, models: Mapping[int, Model]) -> Box:
        """A rented box that never asks and serves now: for fleets of hundreds. Needs rules.derive_key."""
        if self.rules.derive_key is None:
            raise ValueError("serve_at_once needs rules.derive_key: (host, listen port) → the server's key")
        box = await self.rent(host, list(models), asks=False)
        box.clocks.load_s = 0.0
        for listen, model in models.items():
            spec = {"model": model.weights, "served_model_name": model.served_id, "max_model_len": model.max_model_len}
            box.run(listen, {**spec, "port": listen, "api_key": self.rules.derive_key(host, listen)})
        await asyncio.gather(*(server.task for server in box.servers.values() if server.task))
        return box

    def instance(self, host: str) -> Instance:
        """The newest Vast instance at that address. KeyError when none is listed."""
        found = [each for each in self.vast.instances.values() if each.host == host]
        if not found:
            raise KeyError(f"no Vast instance is listed at {host}")
        return found[-1]

    def pod(self, host: str) -> Pod:
        """The newest RunPod pod at that address. KeyError when none is listed."""
        found = [each for each in self.runpod.pods.values() if each.host == host]
        if not found:
            raise KeyError(f"no RunPod pod is listed at {host}")
        return found[-1]

    async def remap(self, host: str, listen: int, public: int | None = None) -> int:
        """Move a port, in the listing and in fact. The new public port (a free one unless given)."""
        public = public or free_port(host)
        await self.boxes[host].remap(listen, public)
        return public

    async def reset(self, host: str) -> dict[int, int]:
        """A pod's reset: the box starts anew, every public port is another, and the listing shows the old ones for
        rules.runpod_lag_s more. The new ports, by listen port."""
        pod, box = self.pod(host), self.boxes[host]
        pod.reset({listen: free_port(host) for listen in pod.ports}, self.rules.runpod_lag_s)
        await box.die()
        await box.come_up()
        return dict(pod.ports)

    async def stop_rented(self, host: str) -> None:
        """Its provider stops it: listed as not running, and dead."""
        rented: list[Instance | Pod] = [*self.vast.instances.values(), *self.runpod.pods.values()]
        found = [each for each in rented if each.host == host]
        if not found:
            raise KeyError(f"no provider lists {host}")
        found[-1].stop()
        await self.boxes[host].die()

    async def replace(self, host: str) -> Box:
        """The same address under a new instance id: the provider recreated the container."""
        old = self.instance(host)
        del self.vast.instances[old.id]
        self.vast.add(Instance(next(self._ids), host, old.ports))
        box = self.boxes[host]
        await box.die()
        await box.come_up()
        return box

    async def destroy(self, host: str) -> None:
        """Gone for good: dead, and in no listing."""
        await self.boxes.pop(host).die()
        self.vast.instances = {each.id: each for each in self.vast.instances.values() if each.host != host}
        self.runpod.pods = {each.id: each for each in self.runpod.pods.values() if each.host != host}

    # -- others

    async def commercial(self, served_id: str, api_key: str) -> str:
        """A provider's OpenAI-compatible API that serves one model; its base, with /v1."""
        upstream = Listener(VLLM(served_id, served_id, api_key), "127.0.0.1")
        await upstream.open()
        self.upstreams.append(upstream)
        return f"{upstream.url}/v1"

    async def complete(self, model: str) -> str:
        """What a chat completion through the first replica answers: its text, or LiteLLM's error."""
        litellm = self.litellms[0]
        body = {"model": model, "messages": [{"role": "user", "content": "Say hello."}]}
        headers = {"Authorization": f"Bearer {litellm.master_key}"}
        url, limit = f"{litellm.base_url}/v1/chat/completions", aiohttp.ClientTimeout(total=10)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.post(url, json=body, headers=headers) as got,
        ):
            told = await got.json()
        return str(told["choices"][0]["message"]["content"] if got.status == 200 else told["error"]["message"])

    def state(self) -> dict[str, Any]:
        """Everything worth seeing, without a key."""
        return {
            "llmao_url": self.llmao_url,
            "vast_url": self.vast.base_url,
            "runpod_url": self.runpod.base_url,
            "litellm_urls": [each.base_url for each in self.litellms],
            "boxes": [_box_state(box) for box in self.boxes.values()],
            "vast": [
                {"id": each.id, "host": each.host, "status": each.actual_status, "ports": each.ports}
                for each in self.vast.instances.values()
            ],
            "runpod": [
                {"id": each.id, "host": each.host, "status": each.status, "ports": each.listed_ports}
                for each in self.runpod.pods.values()
            ],
            "deployments": [
                {"id": row.id, "name": row.model_name, "api_base": row.api_base, "blocked": row.blocked}
                for row in (self.litellms[0].rows().values() if self.litellms else ())
            ],
        }


def _box_state(box: Box) -> dict[str, Any]:
    servers = [
        {"listen": each.listen, "model": each.vllm.served_id, "state": each.state, "public": box.ports.get(each.listen)}
        for each in box.servers.values()
    ]
    return {"host": box.host, "alive": box.alive, "last_answer": box.last_answer, "servers": servers}
