"""Five hundred boxes on one machine: a converged plan, probed with room to spare, and LiteLLM left in peace."""

import time
from pathlib import Path

import pytest

from fleet.keys import derive_key
from sim.held import HeldWorld, running_world
from sim.litellm import MASTER_KEY
from sim.world import Model, Rules
from tests.e2e.plane import LiteLLM, Plane, box_model, running_plane

BOXES = 500
CLOCK_S = 15
SALT = "a-salt-of-the-tests"
TINY = Model("tiny", "Example/Tiny-1B")


def hosts() -> list[str]:
    return [f"127.90.{number // 250}.{number % 250 + 1}" for number in range(BOXES)]


@pytest.mark.e2e
@pytest.mark.services  # it needs none, but a minute and both cores
def test_it_converges_on_five_hundred_boxes_and_then_keeps_quiet(tmp_path: Path) -> None:
    rules = Rules(derive_key=lambda host, port: derive_key(SALT, host, port), litellm_poll_s=1)
    with running_world(rules) as world:
        for each in hosts():
            world.serve_at_once(each, {8001: TINY})
        wanted = {each: [["tiny", 8001]] for each in hosts()}
        litellm = LiteLLM(world.litellm_urls[0], MASTER_KEY)
        clocks = {"health_interval_s": CLOCK_S, "skew_interval_s": 5, "listing_interval_s": 5}
        models = [box_model("tiny", TINY.weights)]
        with running_plane(tmp_path, world, litellm, models, hosts=wanted, **clocks) as plane:
            took_s = plane.until(lambda: len(world.litellms[0].rows()) == BOXES, "every box has its row", 180)
            print(f"\n{BOXES} boxes converged in {took_s:.0f} s")
            plane.until(lambda: plane.manage("plan").returncode == 0, "the plan is empty")
            quiet(plane, world)
            probed_within_a_clock(plane)


def quiet(plane: Plane, world: HeldWorld) -> None:
    """No write, and about one read of the rows a clock."""
    replica = world.litellms[0]
    writes, reads = len(replica.writes), len([call for call in replica.calls if call.path == "/model/info"])
    time.sleep(20)
    assert len(replica.writes) == writes
    assert len([call for call in replica.calls if call.path == "/model/info"]) - reads <= 5


def probed_within_a_clock(plane: Plane) -> None:
    """All probes of the newest reading were made within a fraction of the clock."""
    times = [record["probe"]["at"] for record in plane.view()["records"]]
    assert len(times) == BOXES
    spread = max(times) - min(times)
    print(f"probed within {spread:.2f} s of a {CLOCK_S} s clock")
    assert spread < CLOCK_S / 3
