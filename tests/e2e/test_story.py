"""The main job, from the outside: a box that is wanted and serves gets traffic through LiteLLM, and one that died does
not. Everything is real but the boxes: web, worker, beat, broker, database, and (marker real_litellm) LiteLLM."""

from pathlib import Path

import pytest

from sim.held import HeldWorld
from tests.e2e.plane import LiteLLM, Plane, box_model, host, running_plane

MODEL = box_model("tiny", "Example/Tiny-1B")


def follow(plane: Plane, world: HeldWorld, address: str) -> None:
    """One box's life: it asks, loads, serves, moves, dies and returns."""
    box = world.rent(address, [8003])
    world.until(lambda: box.state(8003) == "serving")
    plane.until(lambda: len(plane.rows()) == 1, "the box's row is in LiteLLM")
    plane.until(lambda: plane.completes("tiny"), "a completion reaches the box")

    public = world.remap(address, 8003)
    plane.until(lambda: str(public) in str(plane.rows()), "the row has the new port")
    plane.until(lambda: plane.completes("tiny"), "a completion reaches the box at its new port")
    assert len(plane.rows()) == 1, "the same row, moved"

    box.die()
    plane.until(lambda: not plane.rows(), "the dead box's row is gone")
    assert not plane.completes("tiny")

    box.come_back()
    plane.until(lambda: len(plane.rows()) == 1, "the row is back", 90)
    plane.until(lambda: plane.completes("tiny"), "a completion reaches the box again")
    plane.until(lambda: plane.manage("plan").returncode == 0, "nothing is left to do")


@pytest.mark.e2e
def test_it_follows_a_box_on_the_embedded_default(tmp_path: Path, world: HeldWorld, litellm: LiteLLM) -> None:
    address = host(10)
    with running_plane(tmp_path, world, litellm, [MODEL], hosts={address: [["tiny", 8003]]}) as plane:
        follow(plane, world, address)


@pytest.mark.e2e
@pytest.mark.services
def test_it_follows_a_box_on_postgresql_and_redis(
    tmp_path: Path, world: HeldWorld, litellm: LiteLLM, services: dict[str, str]
) -> None:
    address = host(11)
    with running_plane(tmp_path, world, litellm, [MODEL], hosts={address: [["tiny", 8003]]}, env=services) as plane:
        follow(plane, world, address)
