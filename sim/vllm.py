"""One vLLM server, as its clients see it: /health, /v1 behind the key, /metrics; errors in vLLM's own shapes."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

#: Weights differ, and so does what a box can hold; the figures only have to be plausible and steady.
KV_CACHE_TOKENS = 149056


@dataclass
class VLLM:
    """A server that has loaded. Change its fields while it runs: the next answer follows them."""

    served_id: str  #: the id that /v1/models lists, and the only one that completions take
    weights: str  #: "Qwen/Qwen3-8B": the root of that row
    api_key: str
    max_model_len: int = 32768
    open: bool = False  #: takes any key, or none
    health_status: int = 200
    refuse_rate: float = 0.0  #: share of requests that get a 503, evenly spread (0.25: every fourth)
    hung: bool = False  #: accepts, and never answers
    running: int = 0  #: requests in the engine, for /metrics
    waiting: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    requests: Counter[str] = field(default_factory=Counter)  #: path → how often it was asked for
    started: float = field(default_factory=time.time)
    _owed: float = 0.0
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Any request to the server's port."""
        self.requests[request.path] += 1
        if self.hung:
            await asyncio.Event().wait()
        if self._refuses():
            return web.json_response(
                {"error": {"message": "overloaded", "type": "Unavailable", "code": 503}}, status=503
            )
        if request.path == "/health":
            return web.Response(status=self.health_status)
        if request.path == "/metrics":
            return web.Response(text=self.metrics(), content_type="text/plain")
        if request.path == "/version":
            return web.json_response({"version": "0.33.0"})
        if not self._let_in(request):
            return web.json_response({"error": "Unauthorized"}, status=401)
        return await self._guarded(request)

    def _refuses(self) -> bool:
        self._owed += self.refuse_rate
        refuses, self._owed = self._owed >= 1.0, self._owed % 1.0
        return refuses

    def _let_in(self, request: web.BaseRequest) -> bool:
        return self.open or request.headers.get("Authorization") == f"Bearer {self.api_key}"

    async def _guarded(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/v1/models":
            return web.json_response(self.models())
        if request.path == "/v1/chat/completions" and request.method == "POST":
            return self.completion(await request.json())
        return web.json_response({"detail": "Not Found"}, status=404)

    def models(self) -> dict[str, Any]:
        row = {"id": self.served_id, "object": "model", "created": int(self.started), "owned_by": "vllm"}
        origin = {"root": self.weights, "parent": None, "max_model_len": self.max_model_len}
        return {"object": "list", "data": [{**row, **origin}]}

    def completion(self, body: dict[str, Any]) -> web.Response:
        """vLLM answers 404 to any name but the one it serves."""
        if body.get("model") != self.served_id:
            absent = f"The model `{body.get('model')}` does not exist."
            problem = {"message": absent, "type": "NotFoundError", "param": "model", "code": 404}
            return web.json_response({"error": problem}, status=404)
        self.prompt_tokens += 12
        self.generation_tokens += 4
        message = {"role": "assistant", "content": f"Hello from {self.served_id}."}
        told = {
            "id": f"chatcmpl-{next(self._numbers)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.served_id,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 4, "total_tokens": 16},
        }
        return web.json_response(told)

    def metrics(self) -> str:
        """The series that llmao reads, as vLLM 0.33 writes them."""
        labels = f'engine="0",model_name="{self.served_id}"'
        used = min(1.0, self.running * 0.02)
        gauges = {
            "vllm:num_requests_running": float(self.running),
            "vllm:num_requests_waiting": float(self.waiting),
            "vllm:kv_cache_usage_perc": used,
        }
        counters = {
            "vllm:prompt_tokens_total": float(self.prompt_tokens),
            "vllm:generation_tokens_total": float(self.generation_tokens),
        }
        lines = [f"# TYPE {name} gauge\n{name}{{{labels}}} {value}" for name, value in gauges.items()]
        for name, value in counters.items():
            lines.append(f"# TYPE {name} counter\n{name}{{{labels}}} {value}")
            lines.append(f"{name.replace('_total', '_created')}{{{labels}}} {self.started!r}")
        cache = f'block_size="16",engine="0",kv_cache_size_tokens="{KV_CACHE_TOKENS}",num_gpu_blocks="9316"'
        lines.append(f"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{{cache}}} 1.0")
        return "\n".join(lines) + "\n"


class Listener:
    """A VLLM on one address; while it is closed nothing listens there, as while a model loads."""

    def __init__(self, server: VLLM, host: str, port: int = 0) -> None:
        self.server, self.host, self.port = server, host, port
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def open(self) -> None:
        """Listen; port 0 takes a free one and keeps it. OSError when the address is taken."""
        runner = web.ServerRunner(web.Server(self.server.answer, access_log=None), shutdown_timeout=0.05)
        self._runner = runner  # before it listens: whoever is cancelled here must still be able to close it
        await runner.setup()
        try:
            await web.TCPSite(runner, self.host, self.port, reuse_address=True).start()
        except OSError:
            await self.close()
            raise
        self.port = runner.addresses[0][1]

    async def close(self) -> None:
        """Established connections are dropped too: a dead box does not finish its answers."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
