"""The story, with a puppet in llmao's place: it keeps LiteLLM's rows as they should be, whenever time passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim import story
from sim.held import HeldWorld, running_world
from sim.litellm import Row
from sim.story import Story
from sim.world import Rules


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
        "127.1.0.13 is back",
        "its deployment is back",
    ]
    assert len(lines) == len(wanted)
    assert [words for words, line in zip(wanted, lines, strict=True) if words not in line] == []


def test_it_says_so_when_llmao_does_nothing(world: HeldWorld) -> None:
    lines = _tell(world, Puppet(world, asleep=True), 0.5)
    assert f"{story.BOUGHT} is not in LiteLLM after 0 s; look at the page for the reason" in lines
    assert any(line.startswith("LiteLLM does not have all 4 deployments") for line in lines)
    assert any("Invalid model name" in line for line in lines)  # the completion that nobody could answer


def test_it_leaves_the_unknown_box_asking(world: HeldWorld) -> None:
    _tell(world, Puppet(world), 5)
    assert story.STRANGER in world.hosts()
    assert sorted(world.instance(story.STRANGER).ports) == [8001, 8002]
