from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.background import LoopThread
from sim.control import Control
from sim.world import Rules, World
from tests.sim.asking import Answer, ask

HOST = "127.1.0.20"
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def control() -> Iterator[str]:
    with LoopThread("control") as background:
        world = World(Rules(litellm_replicas=0))
        background.run(world.start())
        control = Control(world)
        yield background.run(control.site.start())
        background.run(control.site.stop())
        background.run(world.stop())


def _post(control: str, path: str, body: object = None) -> Answer:
    return ask(f"{control}{path}", method="POST", body=body)


def test_it_rents_remaps_and_destroys_a_box(control: str) -> None:
    assert _post(control, "/rent", {"host": HOST, "ports": {"8003": 41234}}).body["vast"][0]["ports"] == {"8003": 41234}
    moved = _post(control, f"/boxes/{HOST}/remap", {"listen": 8003}).body["vast"][0]["ports"]["8003"]
    assert moved != 41234
    assert _post(control, f"/boxes/{HOST}/die").body["boxes"][0]["alive"] is False
    assert _post(control, f"/boxes/{HOST}/return").body["boxes"][0]["alive"] is True
    assert _post(control, f"/boxes/{HOST}/stop").body["vast"][0]["status"] == "exited"
    assert _post(control, f"/boxes/{HOST}/destroy").body["boxes"] == []


def test_it_rents_resets_and_stops_a_pod(control: str) -> None:
    body = {"host": HOST, "ports": {"8003": 41234}, "provider": "runpod"}
    (pod,) = _post(control, "/rent", body).body["runpod"]
    assert (pod["status"], pod["ports"]) == ("RUNNING", {"8003": 41234})
    (pod,) = _post(control, f"/boxes/{HOST}/reset").body["runpod"]
    assert pod["ports"] == {"8003": 41234}, "the listing lags"
    (pod,) = _post(control, f"/boxes/{HOST}/stop").body["runpod"]
    assert pod["status"] == "EXITED"
    assert _post(control, f"/boxes/{HOST}/destroy").body["runpod"] == []


def test_it_limits_and_spoils_runpod(control: str) -> None:
    url = _post(control, "/runpod", {"left": 1, "window_s": 60}).body["runpod_url"]
    key = Rules().runpod_key
    assert [ask(f"{url}/v2/pods", key).status for _ in range(2)] == [200, 429]
    _post(control, "/runpod", {"fault": "status", "status": 502})
    assert ask(f"{url}/v2/pods", key).status == 502
    _post(control, "/runpod", {})
    assert ask(f"{url}/v2/pods", key).status == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/rent", {"ports": [8003]}, 400, "missing required field `host`"),
        ("/rent", {"host": HOST, "port": 8003}, 400, "unknown field `port`"),
        ("/rent", {"host": "203.0.113.10", "ports": [8003]}, 400, "Cannot assign requested address"),
        ("/rent", {"host": HOST, "provider": "lambda"}, 400, "Invalid enum value 'lambda'"),
        ("/runpod", {"fault": "fire"}, 400, "Invalid enum value 'fire'"),
        ("/vast", {"fault": "fire"}, 400, "Invalid enum value 'fire'"),
        ("/boxes/127.1.0.99/die", None, 404, "no box at 127.1.0.99; there are: none"),
    ],
)
def test_it_says_what_is_wrong(control: str, path: str, body: object, status: int, words: str) -> None:
    answer = _post(control, path, body)
    assert answer.status == status
    assert words in answer.text


def test_it_names_the_actions_that_a_box_knows(control: str) -> None:
    _post(control, "/rent", {"host": HOST})
    assert "unknown field `hang`" in _post(control, f"/boxes/{HOST}/behave", {"hang": True}).text
    assert _post(control, f"/boxes/{HOST}/behave", {"hung": True}).status == 200
    assert "there are: die, return, destroy" in _post(control, f"/boxes/{HOST}/explode").text
    assert "it runs: nothing" in _post(control, f"/boxes/{HOST}/crash", {"listen": 8003}).text


def test_it_prints_its_addresses_and_ends_on_sigterm() -> None:
    command = [sys.executable, "-m", "sim"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        boxes = ask(lines[0].split()[1]).body["boxes"]
        process.terminate()
        assert process.wait(10) == 0
    assert boxes == []
    assert [line.partition("http://127.0.0.1:")[0] for line in lines] == [
        "control  ",
        "vast     ",
        "runpod   ",
        "litellm  ",
    ]
