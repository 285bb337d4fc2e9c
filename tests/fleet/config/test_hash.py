"""The hash that two control planes compare: over every value, giving none away."""

from pathlib import Path

import pytest

from fleet.config import load
from tests.fleet.config.files import CONFIG, MODELS, with_fleet, write


def hash_of(folder: Path, config: str = CONFIG, models: str = MODELS) -> str:
    return load(write(folder, config, models)).hash


def test_it_is_64_hex_digits_and_the_same_twice(tmp_path: Path) -> None:
    first = hash_of(tmp_path)
    assert first == hash_of(tmp_path)
    assert len(first) == 64 and int(first, 16)


@pytest.mark.parametrize(
    ("old", "new"),
    [("fleet-key", "other-key"), ("salt: salt", "salt: pepper"), ("sk-master", "sk-other"), ("4000", "4001"),
     ("fleet:\n", "fleet:\n  health_interval_s: 14\n"), ("fleet:\n", "policy: {mode: observe}\nfleet:\n"),
     ("fleet:\n", "fleet:\n  hosts: {203.0.113.10: [[qwen3-8b, 8001]]}\n"),
     ("fleet:\n", "fleet:\n  vast: {api_key: k}\n"), ("fleet:\n", "server: {trusted_proxies: [10.0.0.1]}\nfleet:\n")],
)  # fmt: skip
def test_it_changes_with_every_value(tmp_path: Path, old: str, new: str) -> None:
    assert hash_of(tmp_path, CONFIG.replace(old, new)) != hash_of(tmp_path)


def test_it_changes_with_a_model(tmp_path: Path) -> None:
    assert hash_of(tmp_path, models=MODELS.replace("FP8", "AWQ")) != hash_of(tmp_path)


def test_it_does_not_change_with_comments_spelling_or_place(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    servers = "open_servers: ['203.0.113.10:8001', '203.0.113.10:8002']"
    other = with_fleet("open_servers: ['203.0.113.10:8002', '[::ffff:203.0.113.10]:8001']")
    text = with_fleet(servers + "\nhealth_interval_s: 15.0  # the default")
    assert hash_of(tmp_path, text) == hash_of(tmp_path / "b", "# a comment\n" + other)
