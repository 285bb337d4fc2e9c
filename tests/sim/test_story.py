"""The story, with a puppet in llmao's place: it keeps LiteLLM's rows as they should be, whenever time passes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import pytest

from sim import story
from sim.held import HeldWorld, running_world
from sim.litellm import Row
from sim.story import Story
from sim.world import Rules


class Refusing:
    """In llmao's place: nothing is assigned to anybody."""

    class _Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """A test prints nothing."""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._Answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Puppet:
    """`pause` lets no time pass but a moment, and then does what llmao would have done."""

    def __init__(self, world: HeldWorld, *, asleep: bool = False) -> None:
        self.world, self.asleep = world, asleep
        self.lines: list[str] = []

    def pause(self, seconds: float) -> None:
        if not self.asleep:
            self._keep_rows()

    def _keep_rows(self) -> None:
        rows = self.world.litellms[0].store.rows
        rows[story.BOUGHT] = Row(story.BOUGHT, story.BOUGHT, {"api_base": "http://127.0.0.1:1/v1"})
        for host in [each for each in story.HOSTS if each in self.world.hosts()]:
            box = self.world.box(host)
            for name, listen, *_ in story.HOSTS[host]:
                self._keep_row(f"{host}:{listen}", str(name), host, box.public_ports[int(listen)])

    def _keep_row(self, row_id: str, name: str, host: str, public: int) -> None:
        rows = self.world.litellms[0].store.rows
        if self.world.box(host).alive:
            rows[row_id] = Row(row_id, name, {"api_base": f"http://{host}:{public}/v1"})
        else:
            rows.pop(row_id, None)


@pytest.fixture
def world() -> Iterator[HeldWorld]:
    with running_world(Rules(load_s=0.1)) as world:
        yield world


def _tell(world: HeldWorld, puppet: Puppet, patience_s: float) -> list[str]:
    told = Story(world, puppet.lines.append, puppet.pause, pace=0.0, patience_s=patience_s)
    told.begin()
    told.tell()
    return puppet.lines


def test_it_tells_every_step_and_what_came_of_it(world: HeldWorld) -> None:
    lines = _tell(world, Puppet(world), 5)
    wanted = [
        "Awaiting",
        "commercial",
        "Loading",
        "LiteLLM has 4 deployments of them: Healthy",
        "chat completion",
        "Vast maps 127.1.0.11:8003 to",
        "follows to",
        "chat completion",
        "127.1.0.13 dies",
        "the deployment of 127.1.0.13 is gone",
        "127.1.0.66, which config.yaml does not know, presents the fleet key",
        "127.1.0.13 is back and asks",
        "its deployment is back",
    ]
    assert len(lines) == len(wanted)
    assert [words for words, line in zip(wanted, lines, strict=True) if words not in line] == []


def test_it_says_so_when_llmao_does_nothing(world: HeldWorld) -> None:
    lines = _tell(world, Puppet(world, asleep=True), 0.5)
    assert f"{story.BOUGHT} is not in LiteLLM after 0 s; look at the page for the reason" in lines
    assert any(line.startswith("LiteLLM does not have all 4 deployments") for line in lines)
    assert any("Invalid model name" in line for line in lines)  # the completion that nobody could answer


class Retiring(Puppet):
    """An admin has retired one box: llmao keeps no row of it, and assigns nothing to it."""

    def _keep_row(self, row_id: str, name: str, host: str, public: int) -> None:
        if host != story.FRAIL:
            super()._keep_row(row_id, name, host, public)


def test_it_claims_nothing_of_a_retired_box(world: HeldWorld) -> None:
    puppet = Retiring(world)
    told = Story(world, puppet.lines.append, puppet.pause, pace=0.0, patience_s=0.5)
    told.begin()
    puppet.pause(0)
    told.box_dies()
    told.port_moves(story.FRAIL)
    told.port_moves_of_all(story.FRAIL)
    with Refusing() as llmao:
        world.llmao_url = llmao.url
        world.box(story.FRAIL).start_asking()
        told.patience_s = 20
        told.pause = lambda _: time.sleep(0.1)
        told.box_returns()
    assert [line for line in puppet.lines if "is gone" in line or "follows" in line or "is back" in line] == [
        "127.1.0.13 is back and asks what to run"
    ]
    assert "LiteLLM had no deployment of 127.1.0.13, so nothing has to go" in puppet.lines
    assert "LiteLLM had no deployment of 127.1.0.13, so nothing has to follow" in puppet.lines
    assert puppet.lines[-1] == "llmao assigns nothing to 127.1.0.13 now"


def test_it_leaves_the_unknown_box_asking(world: HeldWorld) -> None:
    _tell(world, Puppet(world), 5)
    assert story.STRANGER in world.hosts()
    assert sorted(world.instance(story.STRANGER).ports) == [8001, 8002]
