"""Boxes ask a small llmao of the test's own, which knows the protocol and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from sim.background import LoopThread
from sim.box import free_port
from sim.held import HeldBox, HeldWorld, running_world
from sim.site import Site
from sim.world import FLEET_KEY, Model, Rules
from tests.sim.asking import Answer, ask

HOST = "127.1.0.10"
KEY = "sk-vllm-made-up"
FIXTURES = Path(__file__).parent.parent / "fixtures"
RULES = Rules(load_s=0.1, ask_s=0.05)


class Llmao:
    """Answers GET /vllm/config from `servers`, host → entries; remembers who asked."""

    def __init__(self) -> None:
        self.servers: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[tuple[str, str, int]] = []  #: (claimed host, peer address, status)
        self.url = ""

    def assign(self, host: str, port: int = 8003, served: str = "qwen3-8b", **more: Any) -> None:
        entry = {"model": "Qwen/Qwen3-8B", "served_model_name": served, "port": port, "api_key": KEY, **more}
        self.servers[host] = [{"name": served, "host": host, "args": [], **entry}]

    async def config(self, request: web.Request) -> web.Response:
        answer = self._answer(request)
        self.asked.append((request.headers["X-LLMAO-Host"], str(request.remote), answer.status))
        return answer

    def _answer(self, request: web.Request) -> web.Response:
        host = request.headers["X-LLMAO-Host"]
        if request.headers.get("Authorization") != f"Bearer {FLEET_KEY}":
            return web.json_response({"error": {"message": "wrong fleet key"}}, status=401)
        if host not in self.servers:
            return web.json_response({"error": {"message": "unknown host"}}, status=404)
        revision = hashlib.sha256(json.dumps(self.servers[host]).encode()).hexdigest()
        if request.headers.get("If-None-Match") == f'"{revision}"':
            return web.Response(status=304)
        body = {"host": host, "revision": revision, "servers": self.servers[host]}
        return web.json_response(body, headers={"ETag": f'"{revision}"'})


@pytest.fixture
def llmao() -> Iterator[Llmao]:
    llmao = Llmao()
    app = web.Application()
    app.add_routes([web.get("/vllm/config", llmao.config)])
    with LoopThread("llmao") as background:
        site = Site(app)
        llmao.url = background.run(site.start())
        yield llmao
        background.run(site.stop())


@pytest.fixture
def world(llmao: Llmao) -> Iterator[HeldWorld]:
    with running_world(RULES, llmao_url=llmao.url) as world:
        yield world


def _serving(world: HeldWorld, llmao: Llmao) -> HeldBox:
    llmao.assign(HOST)
    box = world.rent(HOST, [8003])
    world.until(lambda: box.state(8003) == "serving", 10)
    return box


def _at(box: HeldBox, path: str, key: str | None = KEY, **more: Any) -> Answer:
    return ask(f"http://{box.host}:{box.public_ports[8003]}{path}", key, **more)


def _complete(box: HeldBox, model: str) -> Answer:
    return _at(box, "/v1/chat/completions", method="POST", body={"model": model, "messages": []})


@contextmanager
def _nothing_listens() -> Iterator[None]:
    with pytest.raises(OSError, match="refused"):
        yield


def test_it_asks_with_its_address_until_it_is_known(world: HeldWorld, llmao: Llmao) -> None:
    box = world.unknown_box(HOST, [8003])
    world.until(lambda: box.last_answer == 404, 10)
    assert llmao.asked[0] == (HOST, HOST, 404)
    llmao.assign(HOST)
    world.until(lambda: box.state(8003) == "serving", 10)


def test_it_does_not_listen_while_it_loads(world: HeldWorld, llmao: Llmao) -> None:
    world.rules.load_s = 60
    llmao.assign(HOST)
    box = world.rent(HOST, [8003])
    world.until(lambda: box.state(8003) == "loading", 10)
    with _nothing_listens():
        _at(box, "/health")


def test_it_asks_for_changes_only(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    world.until(lambda: llmao.asked[-1][2] == 304, 10)
    llmao.assign(HOST, served="qwen3-8b-renamed")
    world.until(lambda: box.state(8003) == "loading", 10)
    world.until(lambda: box.state(8003) == "serving", 10)
    assert _at(box, "/v1/models").body["data"][0]["id"] == "qwen3-8b-renamed"


def test_it_stops_what_config_no_longer_names(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    llmao.servers[HOST] = []
    world.until(lambda: box.state(8003) is None, 10)
    with _nothing_listens():
        _at(box, "/health")


def test_it_answers_as_vllm_does(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    recorded = json.loads((FIXTURES / "vllm_models.json").read_text())["data"][0]
    (row,) = _at(box, "/v1/models").body["data"]
    assert {name: row[name] for name in ("id", "root", "parent", "max_model_len")} == {
        name: recorded[name] for name in ("id", "root", "parent", "max_model_len")
    }
    assert _at(box, "/health", key=None).status == 200
    refused = _at(box, "/v1/models", key="sk-wrong")
    assert (refused.status, refused.body) == (401, json.loads((FIXTURES / "vllm_401.json").read_text()))
    assert _complete(box, "qwen3-8b").body["choices"][0]["message"]["role"] == "assistant"
    assert _complete(box, "another").status == 404


def test_it_writes_the_series_that_vllm_writes(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    _complete(box, "qwen3-8b")
    lines = _at(box, "/metrics", key=None).text.splitlines()
    series = {line.partition("{")[0] for line in lines if not line.startswith("#")}
    recorded = (FIXTURES / "vllm_metrics_033.txt").read_text()
    assert all(f"{name}{{" in recorded for name in series)
    assert 'vllm:generation_tokens_total{engine="0",model_name="qwen3-8b"} 4.0' in lines
    assert 'kv_cache_size_tokens="149056"' in lines[-1]


def test_it_dies_and_comes_back(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    box.die()
    with _nothing_listens():
        _at(box, "/health")
    assert world.instance(HOST).actual_status == "running"
    box.come_back()
    world.until(lambda: box.state(8003) == "serving", 10)
    assert _at(box, "/health").status == 200


def test_it_crashes_one_server_and_goes_on_asking(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    box.crash(8003)
    asked = len(llmao.asked)
    world.until(lambda: len(llmao.asked) > asked, 10)
    with _nothing_listens():
        _at(box, "/health")


def test_it_moves_a_port_in_the_listing_and_in_fact(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    old = box.public_ports[8003]
    new = world.remap(HOST, 8003)
    assert new != old and world.instance(HOST).ports == {8003: new}
    assert _at(box, "/health").status == 200
    with _nothing_listens():
        ask(f"http://{HOST}:{old}/health")


def test_it_hangs_opens_and_refuses_as_told(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    box.hang()
    with pytest.raises(OSError):
        _at(box, "/health", timeout_s=0.2)
    box.hang(False)
    box.open_up()
    assert _at(box, "/v1/models", key="sk-wrong").status == 200
    box.open_up(False)
    box.refuse(0.5)
    assert sorted(_at(box, "/health").status for _ in range(4)) == [200, 200, 503, 503]
    box.refuse(0.0)
    box.answer_health_with(503)
    assert (_at(box, "/health").status, _at(box, "/v1/models").status) == (503, 200)


def test_it_serves_another_id_of_the_same_weights(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    box.serve_as(8003, "Qwen/Qwen3-8B")
    (row,) = _at(box, "/v1/models").body["data"]
    assert (row["id"], row["root"]) == ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B")
    assert _complete(box, "qwen3-8b").status == 404


def test_it_serves_its_own_ports_on_a_box_that_nobody_lists(world: HeldWorld, llmao: Llmao) -> None:
    listen = free_port(HOST)
    llmao.assign(HOST, port=listen)
    box = world.own_box(HOST)
    world.until(lambda: box.state(listen) == "serving", 10)
    assert ask(f"http://{HOST}:{listen}/health").status == 200
    assert world.vast.instances == {}


def test_it_is_not_reached_on_a_port_that_the_provider_does_not_map(world: HeldWorld, llmao: Llmao) -> None:
    llmao.assign(HOST, port=8009)
    box = world.rent(HOST, [8003])
    world.until(lambda: box.state(8009) == "serving", 10)
    with _nothing_listens():
        ask(f"http://{HOST}:8009/health")


def test_it_recreates_an_instance_at_the_same_address(world: HeldWorld, llmao: Llmao) -> None:
    box = _serving(world, llmao)
    before = world.instance(HOST).id
    world.replace(HOST)
    assert world.instance(HOST).id != before
    world.until(lambda: box.state(8003) == "serving", 10)
    world.destroy(HOST)
    assert world.vast.instances == {}


def test_it_resets_a_pod_to_other_ports_that_its_listing_shows_late(llmao: Llmao) -> None:
    with running_world(replace(RULES, runpod_lag_s=1.0), llmao_url=llmao.url) as world:
        llmao.assign(HOST)
        box = world.rent(HOST, {8003: free_port(HOST)}, provider="runpod")
        world.until(lambda: box.state(8003) == "serving", 10)
        before, pod = dict(box.public_ports), world.pod(HOST)
        assert world.reset(HOST) == box.public_ports != before
        assert pod.listed_ports == before
        world.until(lambda: pod.listed_ports == box.public_ports, 10)
        world.until(lambda: box.state(8003) == "serving", 10)
        assert ask(f"http://{HOST}:{box.public_ports[8003]}/health").status == 200
        assert world.vast.instances == {}
        world.destroy(HOST)
        assert world.runpod.pods == {}


def test_it_serves_hundreds_at_once_without_asking() -> None:
    with running_world(Rules(derive_key=lambda host, listen: f"sk-{host}-{listen}")) as world:
        hosts = [f"127.2.{number // 200}.{number % 200 + 1}" for number in range(300)]
        boxes = [world.serve_at_once(host, {8001: Model("tiny", "made-up/tiny")}) for host in hosts]
        last = boxes[-1]
        url = f"http://{last.host}:{last.public_ports[8001]}/v1/models"
        assert ask(url, f"sk-{last.host}-8001").body["data"][0]["id"] == "tiny"
        assert len(world.vast.instances) == 300


def test_it_leaves_no_thread_behind() -> None:
    import threading

    before = set(threading.enumerate())
    with running_world() as world:
        world.rent(HOST, [8003])
    assert set(threading.enumerate()) == before
