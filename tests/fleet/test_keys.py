"""Derived keys: their bytes are frozen, because boxes run with them."""

from pathlib import Path
from typing import Any

import pytest

from fleet import keys
from fleet.config import Config, Secret, load
from tests.fleet.config.files import MODELS, with_fleet, write


@pytest.mark.parametrize(
    ("host", "port", "key"),
    [("10.0.0.1", 8003, "sk-vllm-pbaVhd2VqhAXj7mwYIKQ6WOPQQyctsuHpMSOr5DNrxY"),
     ("203.0.113.10", 8001, "sk-vllm-YU9F3Sgfr-gNOZKZHGc84-cbgua6IiDkhr3XlaX35Tc")],
)  # fmt: skip
def test_it_derives_the_keys_that_boxes_run_with(host: str, port: int, key: str) -> None:
    assert keys.derive_key("test-vllm-salt", host, port) == key


def test_it_hashes_a_secret_with_the_salt() -> None:
    assert keys.secret_hash("salt", "value") == "5696466dd89f2c551de5f15136348f18"  # openssl says the same
    assert keys.secret_hash("salt", "value") != keys.secret_hash("pepper", "value")
    assert keys.secret_hash("salt", "value") != keys.secret_hash("salt", "values")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    text = with_fleet(
        "selfhost_api_key: shared\nlegacy_servers: ['203.0.113.10:8001']\n"
        "hosts: {203.0.113.10: [[qwen3-8b, 8001], [qwen3-8b, 8002]]}"
    )
    models = MODELS + (
        "  - model_name: gpt\n"
        "    litellm_params: {model: openai/gpt, api_base: https://api.example.com, api_key: sk-1,"
        " extra_headers: {a: head}}\n"
    )
    return load(write(tmp_path, text, models))


def test_it_gives_legacy_servers_the_shared_key_by_their_listen_port(config: Config) -> None:
    assert keys.server_key(config, "203.0.113.10", 8001) == "shared"
    assert keys.server_key(config, "203.0.113.10", 8002) == keys.derive_key("salt", "203.0.113.10", 8002)
    assert keys.server_key(config, "203.0.113.11", 8001) == keys.derive_key("salt", "203.0.113.11", 8001)


def test_it_replaces_every_secret_of_a_body(config: Config) -> None:
    body = {"a": Secret("x"), "b": [{"c": Secret("y")}, 3], "d": ("text", None)}
    assert keys.hashed(body, config.salt) == {
        "a": {"secret": keys.secret_hash("salt", "x")},
        "b": [{"c": {"secret": keys.secret_hash("salt", "y")}}, 3],
        "d": ["text", None],
    }


def test_it_finds_every_value_again_by_its_hash(config: Config) -> None:
    bodies: list[dict[str, Any] | None] = [
        None,
        {"model_info": {"llmao_key": "http://198.51.100.4:8009"}},
        {"model_info": {"llmao_key": "http://[2001:db8::1]:8001"}},
        {"model_info": {"llmao_key": "https://api.example.com"}},
        {"model_info": {}},
        {},
    ]
    values = set(keys.secrets_by_hash(config, bodies).values())
    assert values == {
        "shared",
        keys.derive_key("salt", "203.0.113.10", 8002),
        keys.derive_key("salt", "198.51.100.4", 8009),
        keys.derive_key("salt", "2001:db8::1", 8001),
        "sk-1",
        "head",
    }
    found = keys.secrets_by_hash(config)
    assert found[keys.server_key_hash(config, "203.0.113.10", 8001)] == "shared"
    assert all(keys.secret_hash("salt", value) == hash_ for hash_, value in found.items())


def test_it_knows_every_secret_that_an_error_may_repeat(config: Config) -> None:
    found = keys.known_secrets(config)
    assert {config.salt, config.litellm.master_key.value(), "shared", "sk-1", "head"} <= set(found)
    assert keys.derive_key(config.salt, "203.0.113.10", 8002) in found
    assert config.fleet.key is None or config.fleet.key.value() in found
    assert len(found) == len(set(found))
