"""All of llmao in a folder of its own, beside a simulated world and a LiteLLM proxy, for tests that watch it work."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sim.held import HeldWorld
from tests.litellm.api import Api
from tests.site.running import ROOT, Up, command, environment, until

FAST = {
    "health_interval_s": 0.5,
    "health_timeout_s": 2,
    "listing_interval_s": 0.5,
    "skew_interval_s": 1,
    "tick_interval_s": 2,
}
EMBEDDED: dict[str, str] = {}


def host(number: int) -> str:
    """A loopback address that no other test process uses."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return f"127.{20 + int(worker)}.{os.getpid() % 250}.{number}"


@dataclass(frozen=True)
class LiteLLM:
    base_url: str
    master_key: str


def configuration(world: HeldWorld, litellm: LiteLLM, **fleet: Any) -> dict[str, Any]:
    """A config.yaml with fast clocks that knows this world."""
    return {
        "fleet": {
            "key": world.rules.fleet_key,
            "vllm_api_salt": "a-salt-of-the-tests",
            "allow_private_hosts": True,
            "vast": {"api_key": world.rules.vast_key, "base_url": world.vast_url, "page_wait_s": 0},
            **FAST,
            **fleet,
        },
        "litellm": {"base_url": litellm.base_url, "master_key": litellm.master_key},
    }


def box_model(name: str, weights: str) -> dict[str, Any]:
    """A row of models.yaml for boxes."""
    return {
        "model_name": name,
        "litellm_params": {"model": f"hosted_vllm/{name}"},
        "model_info": {"self_hosted": True},
        "vllm": {"model": weights, "max_model_len": 4096},
    }


class Plane:
    """A running llmao: its address, its LiteLLM, and the commands on its data."""

    def __init__(self, var: Path, env: dict[str, str], litellm: LiteLLM) -> None:
        self.var, self.env = var, env
        self.litellm = Api(litellm.base_url, litellm.master_key)
        self.address = ""

    def write(self, config: dict[str, Any], models: list[dict[str, Any]]) -> None:
        (self.var / "models.yaml").write_text(yaml.safe_dump({"models": models}))
        (self.var / "config.yaml").write_text(yaml.safe_dump(config))

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command of manage.py on this plane's data."""
        env = environment(self.var, **self.env)
        return subprocess.run(command(*arguments), cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)

    def plan(self) -> dict[str, Any]:
        return dict(json.loads(self.manage("plan", "--json").stdout))

    def view(self) -> dict[str, Any]:
        return dict(json.loads(self.manage("view", "--json").stdout))

    def rows(self) -> dict[str, str]:
        """Deployment id -> api_base, as LiteLLM lists them."""
        return {each: row["litellm_params"].get("api_base", "") for each, row in self.litellm.rows().items()}

    def completes(self, model: str) -> bool:
        """Whether a chat completion through LiteLLM reaches a box."""
        answer = self.litellm.complete(model)
        return answer.status == 200 and bool(answer.body["choices"])

    def until(self, holds: Any, what: str, timeout_s: float = 60.0) -> float:
        return until(holds, what, timeout_s)


@contextmanager
def running_plane(
    var: Path, world: HeldWorld, litellm: LiteLLM, models: list[dict[str, Any]], **options: Any
) -> Iterator[Plane]:
    """llmao on this world; options: `env` (DATABASE_URL, REDIS_URL) and keys of `fleet:`."""
    env: dict[str, str] = options.pop("env", EMBEDDED)
    plane = Plane(var, env, litellm)
    plane.write(configuration(world, litellm, **options), models)
    with Up(var, env=env) as up:
        plane.address = up.address()
        world.llmao_url = plane.address
        yield plane
        world.llmao_url = None
