"""The loop for tests: boxes that were probed, a configuration that names them, a LiteLLM stand-in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fleet import clock, fetching, snapshots
from reconcile.identity import address_url
from reconcile.inputs import ListedModel, Probe, Probes
from sim.litellm import MASTER_KEY, LiteLLM

MODEL = {
    "model_name": "tiny",
    "litellm_params": {"model": "hosted_vllm/tiny"},
    "model_info": {"self_hosted": True},
    "vllm": {"model": "Example/Tiny-1B"},
}


@dataclass
class Fleet:
    """Boxes that were probed, a configuration that names them, and LiteLLM."""

    litellm: LiteLLM
    folder: Path
    hosts: int = 1
    interval_s: float = 15
    timeout_s: float = 1  # of a request to LiteLLM

    def configure(self, **policy: Any) -> None:
        config = {
            "fleet": {
                "key": "sk-fleet",
                "vllm_api_salt": "salt",
                "health_interval_s": self.interval_s,
                "hosts": {self.host(each): [["tiny", 8003]] for each in range(self.hosts)},
            },
            "litellm": {
                "base_url": self.litellm.base_url,
                "master_key": MASTER_KEY,
                "request_timeout_s": self.timeout_s,
            },
            "policy": policy,
        }
        (self.folder / "models.yaml").write_text(yaml.safe_dump({"models": [MODEL]}))
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))
        fetching.fetch("intended", waking=False)

    @staticmethod
    def host(number: int) -> str:
        return f"203.0.113.{number + 10}"

    def probed(self, says: str = "ok") -> None:
        """A reading of every box."""
        at = clock.now()
        snapshots.publish("vllm", Probes(probes=tuple(self._probe(each, says, at) for each in range(self.hosts))), at)

    def _probe(self, number: int, says: str, at: float) -> Probe:
        url = address_url(self.host(number), 8003)
        if says != "ok":
            return Probe(base=url, url=url, at=at, failure="refused")
        listed = (ListedModel(id="tiny", root="Example/Tiny-1B"),)
        return Probe(
            base=url, url=url, at=at, health_status=200, models_status=200, listed=listed, wrong_key_status=401
        )

    def read(self) -> None:
        for name in ("boxes", "attempts", "deployments"):
            fetching.fetch(name, waking=False)
