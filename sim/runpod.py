"""RunPod's listing: GET /v2/pods, paged by cursor when told to, shaped as the recorded bodies are.

The parts that a careless reader trips over: `runtime` is null unless the pod runs, a running pod may lack its ports
for a while or still show the ones it had before a reset, a port of type http has no number, and `env` carries secrets.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from sim.garbage import Fault
from sim.site import Site
from sim.spoilt import spoilt

PATH = "/v2/pods"
API_KEY = "rpa_made_up_api_key"
#: What must never be found in a snapshot, a log or a page of llmao.
SECRET = "made-up-secret-of-a-pod"  # noqa: S105  # there to be looked for, not to protect anything


@dataclass
class Pod:
    """One pod. Change its fields: the next listing follows them."""

    id: str
    host: str
    ports: dict[int, int] = field(default_factory=dict)  #: listen port → public port
    status: str = "RUNNING"
    name: str = "llm-pod"
    gpu_id: str = "NVIDIA GeForce RTX 4090"
    gpu_count: int = 1
    cost: float = 0.69  #: USD an hour
    created_at: str = "2026-11-29T12:00:00Z"
    started_at: str | None = "2026-11-29T12:02:00Z"
    ports_late: bool = False  #: running, and the listing does not show its ports yet
    _began: float = field(default_factory=time.monotonic)
    _shown: dict[int, int] | None = None
    _shown_until: float = 0.0

    def stop(self, status: str = "EXITED") -> None:
        """Listed, not running, and mapping nothing."""
        self.status = status

    def reset(self, ports: dict[int, int], lag_s: float) -> None:
        """New public ports, which the listing shows `lag_s` late; until then it shows the old ones."""
        self._shown, self._shown_until = dict(self.ports), time.monotonic() + lag_s
        self.ports.update(ports)
        self._began = time.monotonic()

    @property
    def ssh_port(self) -> int:
        return 20000 + sum(self.id.encode()) % 20000

    @property
    def listed_ports(self) -> dict[int, int]:
        """Listen → public port as the listing has it now, which is not always where the pod answers."""
        lagging = self._shown is not None and time.monotonic() < self._shown_until
        return self._shown or {} if lagging else self.ports

    def _runtime(self) -> dict[str, Any] | None:
        if self.status != "RUNNING":
            return None
        tcp = {22: self.ssh_port, **self.listed_ports}
        ports: list[dict[str, Any]] = [
            {"private": listen, "public": public, "type": "tcp", "ip": self.host} for listen, public in tcp.items()
        ]
        if self.ports_late:
            ports = [{**each, "public": None, "ip": None} for each in ports]
        return {
            "uptime": int(time.monotonic() - self._began),
            "gpus": [{"util": 78, "memoryUtil": 91}] * self.gpu_count,
            "cpu": {"util": 12},
            "memory": {"util": 22},
            "ports": [*ports, {"private": 8888, "public": None, "type": "http", "ip": None}],
        }

    def _ssh(self) -> dict[str, Any]:
        user = f"{self.id}-64411eb2"
        proxy = {"host": "ssh.invalid", "port": 22, "username": user, "command": f"ssh {user}@ssh.invalid"}
        command = f"ssh root@{self.host} -p {self.ssh_port}"
        direct = {"host": self.host, "port": self.ssh_port, "username": "root", "command": command}
        return {"proxy": proxy, "direct": direct if self.status == "RUNNING" and not self.ports_late else None}

    def body(self) -> dict[str, Any]:
        """The pod as the listing shows it."""
        running = self.status == "RUNNING"
        return {
            **_CONTAINER,
            "id": self.id,
            "name": self.name,
            "ports": [*(f"{listen}/tcp" for listen in self.ports), "8888/http", "22/tcp"],
            "status": self.status,
            "actions": ["stop", "restart", "terminate"] if running else ["start", "terminate"],
            "gpu": {"id": self.gpu_id, "count": self.gpu_count},
            "ssh": self._ssh(),
            "cost": self.cost if running else 0.0,
            "runtime": self._runtime(),
            "createdAt": self.created_at,
            "startedAt": self.started_at,
        }


_CONTAINER: dict[str, Any] = {
    "image": "vllm/vllm-openai:v0.33.0",
    "args": f"--model Qwen/Qwen3-8B --api-key {SECRET}",
    "disk": 60,
    "env": {"HF_TOKEN": SECRET, "LLMAO_FLEET_KEY": SECRET},
    "registry": None,
    "mounts": {"persistent": {"size": 80, "path": "/workspace"}},
    "cloud": "SECURE",
    "dataCenterId": "US-KS-2",
    "cudaVersion": "12.8",
    "template": None,
    "locked": False,
    "globalNetworking": {"enabled": False},
}


def _problem(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> web.Response:
    text = json.dumps({"title": title, "status": status, "detail": detail})
    return web.Response(status=status, text=text, content_type="application/problem+json", headers=headers)


class RunPodAPI:
    """The listing of `pods`, for the bearer of `api_key`. `page_size` None gives all of them at once, without a word
    about pages, as long as RunPod did; with a number it pages.

    `left` counts requests down through the minute's window, which is over after `window_s`; None is no limit.
    Faults, each until it is taken back: `fault` (of sim.garbage; STATUS answers `status`), from page `fault_page` on;
    `endless` never stops handing out cursors.
    """

    def __init__(self, api_key: str = API_KEY) -> None:
        self.api_key = api_key
        self.pods: dict[str, Pod] = {}
        self.page_size: int | None = None
        self.left: int | None = None
        self.window_s = 12
        self.retry_after: str | None = None  #: the header of a 429, where RunPod sends one
        self.fault: Fault | None = None
        self.fault_page = 1
        self.status = 503
        self.endless = False
        self.requests: list[dict[str, str]] = []  #: the query of each listing request
        self._over_at = 0.0
        self._site: Site | None = None

    @property
    def base_url(self) -> str:
        return self._site.url if self._site else ""

    def add(self, pod: Pod) -> Pod:
        self.pods[pod.id] = pod
        return pod

    async def _list_v1(self, _: web.Request) -> web.Response:
        return _problem(410, "Gone", "The REST API v1 was retired. Use /v2.")

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(dict(request.query))
        if request.headers.get("Authorization") != f"Bearer {self.api_key}":
            return _problem(401, "Unauthorized", "Invalid or missing API key.")
        refused = self._count_down()
        if refused is not None:
            return refused
        page = self._page(request.query.get("cursor"))
        answer: web.StreamResponse = web.json_response(page)
        if self.fault is not None and (self.fault_page == 1 or "cursor" in request.query):
            wrong = _problem(self.status, "Something is wrong", "Try again later.")
            answer = await spoilt(request, self.fault, page, wrong)
        if not answer.prepared:
            answer.headers.update(self._windows())
        return answer

    # -- how often one may ask

    def _count_down(self) -> web.Response | None:
        """One request fewer in the window, or the 429 when none is left."""
        if self.left is None:
            return None
        if self.left > 0:
            self.left -= 1
            self._over_at = time.monotonic() + self.window_s
            return None
        told = self._windows() | ({"Retry-After": self.retry_after} if self.retry_after else {})
        return _problem(429, "Too Many Requests", "Rate limit exceeded.", told)

    def _windows(self) -> dict[str, str]:
        left = 60 if self.left is None else self.left
        seconds = max(1, round(self._over_at - time.monotonic())) if self.left is not None else self.window_s
        return {"RateLimit": f'"minute";r={left};t={seconds}, "hour";r=2800;t=1812, "day";r=40000;t=40812'}

    # -- pages

    def _page(self, cursor: str | None) -> dict[str, Any]:
        bodies = [each.body() for each in self.pods.values()]
        if self.page_size is None:
            return {"pods": bodies}
        start = int(cursor.partition("-")[2]) if cursor else 0
        end = start + self.page_size
        more = end < len(bodies) or self.endless
        following = f"cursor-{end if end < len(bodies) else start}" if more else None
        return {"pods": bodies[start:end], "pagination": {"nextCursor": following, "hasNextPage": more}}

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serve; the base URL, for `fleet.runpod.base_url`."""
        app = web.Application()
        app.add_routes([web.get(PATH, self._list), web.get("/v1/pods", self._list_v1)])
        self._site = Site(app)
        return await self._site.start(host, port)

    async def stop(self) -> None:
        if self._site is not None:
            await self._site.stop()
