"""How often each source is read."""

from pathlib import Path
from typing import Any

from fleet import timing
from tests.fleet.config.files import with_fleet, write

DEFAULTS = {
    "intended": 60, "boxes": 60, "attempts": 60, "vast": 60, "runpod": 60, "vllm": 15, "deployments": 60,
    "litellm_health": 14400, "tick": 30,
}  # fmt: skip


def test_it_has_defaults_without_a_configuration(tmp_path: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = tmp_path / "config.yaml"
    assert timing.intervals() == DEFAULTS


def test_it_follows_the_configuration_and_keeps_the_last_good_one(tmp_path: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = write(
        tmp_path,
        with_fleet(
            "listing_interval_s: 1\nhealth_interval_s: 0.25\nskew_interval_s: 2\nlitellm_health_interval_s: 3\n"
            "tick_interval_s: 4"
        ),
    )
    changed = {**DEFAULTS, "vast": 1, "runpod": 1, "vllm": 0.25, "deployments": 2, "litellm_health": 3, "tick": 4}
    assert timing.intervals() == changed
    settings.LLMAO_CONFIG.write_text("fleet: {tick_interval_s: 0}")
    assert timing.intervals() == changed
