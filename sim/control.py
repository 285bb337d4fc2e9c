"""The world from outside: a small HTTP API, for a person with curl.

GET  /world                                         everything worth seeing, without a key
POST /llmao                {"url": "http://…"}      where boxes ask for their config
POST /rent                 {"host": "127.1.0.10", "ports": [8003]}       or {"8003": 41234}; "provider": "runpod"
POST /own                  {"host": "127.1.0.11"}   a box that no provider lists
POST /boxes/HOST/die | return | destroy | replace
POST /boxes/HOST/crash     {"listen": 8003}
POST /boxes/HOST/remap     {"listen": 8003}         optional "public"
POST /boxes/HOST/reset     a RunPod box starts anew under other public ports, which its listing shows late
POST /boxes/HOST/behave    {"hung": true}           also open, refuse_rate, health_status, served_ids; {} ends it
POST /boxes/HOST/stop      the provider stops the instance: listed as exited, and dead
POST /vast                 {"fault": "html"}        a fault of sim.garbage; {} ends it; with "status" for "status"
POST /runpod               {"fault": "html"}        the same; "left": 5 and "window_s": 60 limit its requests
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from aiohttp import web

from sim.box import Box, Misbehaviour
from sim.garbage import Fault
from sim.site import Site
from sim.world import Provider, World

Shape = TypeVar("Shape")


class Address(msgspec.Struct, forbid_unknown_fields=True):
    url: str


class NewBox(msgspec.Struct, forbid_unknown_fields=True):
    host: str
    ports: list[int] | dict[int, int] = msgspec.field(default_factory=list)
    provider: Provider = "vast"


class Port(msgspec.Struct, forbid_unknown_fields=True):
    listen: int
    public: int | None = None


class Ways(msgspec.Struct, forbid_unknown_fields=True):
    """sim.box.Misbehaviour, where an unknown name is an error."""

    open: bool = False
    hung: bool = False
    refuse_rate: float = 0.0
    health_status: int = 200
    served_ids: dict[int, str] = msgspec.field(default_factory=dict)


class VastFault(msgspec.Struct, forbid_unknown_fields=True):
    fault: Fault | None = None
    status: int = 429
    stated_total: int | None = None


class RunPodFault(msgspec.Struct, forbid_unknown_fields=True):
    fault: Fault | None = None
    status: int = 503
    left: int | None = None
    window_s: int = 12


async def _read(request: web.Request, shape: type[Shape]) -> Shape:
    """The body as `shape`; a 400 with a sentence that names what is wrong."""
    try:
        return msgspec.json.decode(await request.read() or b"{}", type=shape, strict=False)
    except msgspec.MsgspecError as problem:
        raise web.HTTPBadRequest(text=f"{request.path}: {problem}\n") from None


class Control:
    def __init__(self, world: World) -> None:
        self._world = world
        app = web.Application(middlewares=[self._say_what_is_wrong])
        app.add_routes(
            [
                web.get("/world", self.show),
                web.post("/llmao", self.point),
                web.post("/rent", self.rent),
                web.post("/own", self.own),
                web.post("/vast", self.spoil_vast),
                web.post("/runpod", self.spoil_runpod),
                web.post("/boxes/{host}/{action}", self.act),
            ]
        )
        self.site = Site(app)
        self._actions: dict[str, Callable[[web.Request, Box], Awaitable[object]]] = {
            "die": lambda _, box: box.die(),
            "return": lambda _, box: box.come_up(),
            "destroy": lambda _, box: world.destroy(box.host),
            "replace": lambda _, box: world.replace(box.host),
            "reset": lambda _, box: world.reset(box.host),
            "stop": lambda _, box: world.stop_rented(box.host),
            "crash": self._crash,
            "remap": self._remap,
            "behave": self._behave,
        }

    @web.middleware
    async def _say_what_is_wrong(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except (ValueError, OSError) as problem:
            return web.Response(status=400, text=f"{problem}\n")
        except KeyError as problem:
            return web.Response(status=404, text=f"{problem.args[0]}\n")

    async def show(self, _: web.Request) -> web.Response:
        return web.json_response(self._world.state())

    async def point(self, request: web.Request) -> web.Response:
        self._world.llmao_url = (await _read(request, Address)).url.rstrip("/")
        return await self.show(request)

    async def rent(self, request: web.Request) -> web.Response:
        wanted = await _read(request, NewBox)
        await self._world.rent(wanted.host, wanted.ports or [8001], provider=wanted.provider)
        return await self.show(request)

    async def own(self, request: web.Request) -> web.Response:
        await self._world.own_box((await _read(request, NewBox)).host)
        return await self.show(request)

    async def spoil_vast(self, request: web.Request) -> web.Response:
        wanted, vast = await _read(request, VastFault), self._world.vast
        vast.fault, vast.status, vast.stated_total = wanted.fault, wanted.status, wanted.stated_total
        return await self.show(request)

    async def spoil_runpod(self, request: web.Request) -> web.Response:
        wanted, runpod = await _read(request, RunPodFault), self._world.runpod
        runpod.fault, runpod.status, runpod.left, runpod.window_s = (
            wanted.fault, wanted.status, wanted.left, wanted.window_s,
        )  # fmt: skip
        return await self.show(request)

    async def act(self, request: web.Request) -> web.Response:
        host, name = request.match_info["host"], request.match_info["action"]
        if host not in self._world.boxes:
            raise KeyError(f"no box at {host}; there are: {', '.join(self._world.boxes) or 'none'}")
        if name not in self._actions:
            raise KeyError(f"no action {name}; there are: {', '.join(self._actions)}")
        await self._actions[name](request, self._world.boxes[host])
        return await self.show(request)

    async def _crash(self, request: web.Request, box: Box) -> None:
        listen = (await _read(request, Port)).listen
        if listen not in box.servers:
            raise KeyError(f"{box.host} runs nothing on {listen}; it runs: {list(box.servers) or 'nothing'}")
        await box.crash(listen)

    async def _remap(self, request: web.Request, box: Box) -> None:
        port = await _read(request, Port)
        await self._world.remap(box.host, port.listen, port.public)

    async def _behave(self, request: web.Request, box: Box) -> None:
        box.behave(Misbehaviour(**msgspec.structs.asdict(await _read(request, Ways))))
