"""What a right configuration says."""

import shutil
import time
from pathlib import Path

import msgspec
import pytest

from fleet.config import Config, HostRow, Secret, load
from fleet.config.params import PROVIDERS
from reconcile.settings import Settings
from tests.fleet.config.files import CONFIG, MODELS, with_fleet, write

ROOT = Path(__file__).parents[3]


def reading(folder: Path, config: str = CONFIG, models: str = MODELS) -> Config:
    return load(write(folder, config, models))


def test_it_loads_the_example_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LLMAO_FLEET_KEY", "LLMAO_VLLM_API_SALT", "VAST_API_KEY", "LITELLM_MASTER_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, f"value-of-{name}")
    for name in ("config", "models"):
        shutil.copy(ROOT / f"{name}.example.yaml", tmp_path / f"{name}.yaml")
    config = load(tmp_path / "config.yaml")
    assert [row.host for row in config.fleet.hosts] == ["203.0.113.10", "203.0.113.10", "198.51.100.4"]
    assert config.fleet.hosts[2] == HostRow(
        host="198.51.100.4", model="qwen3.8-27b", listen_port=8004, label="", public_port=16643
    )
    assert [row.name for row in config.models] == ["qwen3-8b", "gemma4-26b", "qwen3.8-27b", "gpt-5-mini"]
    assert config.fleet.vast and config.fleet.vast.api_key.value() == "value-of-VAST_API_KEY"
    assert config.settings().permission("prune_orphan") == "auto"
    assert config.settings().permission("add_discovered") == "needs_human"
    assert msgspec.structs.replace(config.settings(), policy={}) == Settings()


def test_it_has_the_defaults_of_the_decision(tmp_path: Path) -> None:
    config = reading(tmp_path)
    assert config.settings() == Settings()
    assert (config.fleet.vast, config.fleet.runpod, config.trusted_proxies) == (None, None, ())
    fleet = config.fleet
    assert (fleet.listing_interval_s, fleet.health_interval_s, fleet.skew_interval_s) == (60, 15, 60)
    assert (fleet.litellm_health_interval_s, fleet.sample_interval_s, fleet.tick_interval_s) == (14400, 15, 30)
    assert (fleet.health_timeout_s, config.litellm.request_timeout_s) == (3, 30)


def test_it_hands_every_number_to_the_decision(tmp_path: Path) -> None:
    rest = (
        "policy: {mode: observe, delete_litellm: needs_human, block: needs_human, keep_last_row: true,"
        " opinion_wait_s: 0, actions_per_pass: 7}\n"
    )
    text = with_fleet(
        "health_fail_threshold: 4\nhealth_grace_s: 0.5\nhistory_keep_s: 9\nlitellm_health_interval_s: 2.5", rest
    ).replace("master_key: sk-master", "master_key: sk-master, settle_s: 0.25")
    assert reading(tmp_path, text).settings() == Settings(
        health_fail_threshold=4,
        health_grace_s=0.5,
        settle_s=0.25,
        opinion_wait_s=0,
        history_keep_s=9,
        litellm_health_interval_s=2.5,
        actions_per_pass=7,
        keep_last_row=True,
        mode="observe",
        policy={"delete_litellm": "needs_human", "block": "needs_human"},
    )


def test_it_reads_all_four_forms_of_a_row(tmp_path: Path) -> None:
    text = with_fleet(
        """
hosts:
  203.0.113.10: [[qwen3-8b, 8001], [qwen3-8b, 8002, left], [qwen3-8b, 8003, right, 40003]]
  10.0.0.7: [[qwen3-8b, 8001, null, 40001]]
  "::ffff:198.51.100.4": [[qwen3-8b, 8001]]
  2001:DB8::1: [[qwen3-8b, 8001]]
"""
    )
    rows = [(row.host, row.listen_port, row.label, row.public_port) for row in reading(tmp_path, text).fleet.hosts]
    assert rows == [
        ("203.0.113.10", 8001, "", None),
        ("203.0.113.10", 8002, "left", None),
        ("203.0.113.10", 8003, "right", 40003),
        ("10.0.0.7", 8001, "", 40001),
        ("198.51.100.4", 8001, "", None),
        ("2001:db8::1", 8001, "", None),
    ]


def test_it_takes_loopback_where_private_hosts_are_allowed(tmp_path: Path) -> None:
    text = with_fleet("allow_private_hosts: true\nhosts: {127.0.0.2: [[qwen3-8b, 8001]]}")
    assert reading(tmp_path, text).fleet.hosts[0].host == "127.0.0.2"


def test_it_reads_servers_and_networks(tmp_path: Path) -> None:
    text = with_fleet(
        'selfhost_api_key: shared\nlegacy_servers: ["203.0.113.10:8001", "[2001:db8::1]:8002"]\n'
        "open_servers: [203.0.113.10:8003]",
        "server: {trusted_proxies: [10.0.0.1, 172.16.0.0/12, '2001:db8::/64']}\n",
    )
    config = reading(tmp_path, text)
    assert config.fleet.legacy_servers == {("203.0.113.10", 8001), ("2001:db8::1", 8002)}
    assert config.fleet.open_servers == {("203.0.113.10", 8003)}
    assert [str(network) for network in config.trusted_proxies] == ["10.0.0.1/32", "172.16.0.0/12", "2001:db8::/64"]


def test_it_takes_empty_sections_for_absent_ones(tmp_path: Path) -> None:
    text = with_fleet("hosts:\nvast:\nlegacy_servers:", "policy:\nserver:\n")
    config = reading(tmp_path, text, "models: []\n")
    assert (config.fleet.hosts, config.fleet.vast, config.models) == ((), None, ())


def test_it_reads_a_secret_from_the_environment_and_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMAO_TEST_SALT", "salt-of-env")
    (tmp_path / "key.txt").write_text("key-of-file\n")
    text = CONFIG.replace("fleet-key", "{file: key.txt}").replace("salt: salt", "salt: {env: LLMAO_TEST_SALT}")
    config = reading(tmp_path, text)
    assert config.fleet.key is not None and config.fleet.key.value() == "key-of-file"
    assert config.salt == "salt-of-env"


def test_it_finds_models_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "names.yaml").write_text(MODELS)
    path = write(tmp_path, CONFIG + "models_path: lists/names.yaml\n", models=None)
    assert [row.name for row in load(path).models] == ["qwen3-8b"]


def test_it_unfolds_aliases(tmp_path: Path) -> None:
    models = MODELS.replace("- model_name: qwen3-8b", "- &first\n    model_name: qwen3-8b")
    models += "  - {<<: *first, model_name: other}\n"
    assert [row.name for row in reading(tmp_path, models=models).models] == ["qwen3-8b", "other"]


def test_it_reads_how_a_box_starts_a_model(tmp_path: Path) -> None:
    models = MODELS.replace(
        "vllm: {model: Qwen/Qwen3-8B-FP8}",
        "vllm: {model: Qwen/Qwen3-8B-FP8, args: [--gpu-memory-utilization, 0.90, --seed, 0], max_model_len: 40960,"
        " gpu_memory_utilization: 0.4, vram_gb: 9, disk_gb: 12.5}",
    )
    (row,) = reading(tmp_path, models=models).models
    assert row.vllm and row.vllm.args == ("--gpu-memory-utilization", "0.90", "--seed", "0")
    assert (row.vllm.max_model_len, row.vllm.gpu_memory_utilization) == (40960, 0.4)
    assert (row.vllm.vram_gb, row.vllm.disk_gb) == (9, 12.5)
    assert (row.served_name, row.provider) == ("qwen3-8b", "")


def test_it_reads_a_commercial_model(tmp_path: Path) -> None:
    models = """\
models:
  - model_name: gpt
    display_name: GPT
    released: 2026-05-01
    context_window: 128000
    litellm_params:
      model: openai/gpt-5/mini
      api_base: https://api.example.com/v1/
      api_key: sk-hunter2
      max_tokens: 4096
      temperature: 1.0e-1
      aws_secret_access_key: hunter3
      extra_headers: {x-team: hunter4}
      extra_body: {password: [hunter5], top_k: 3}
      vertex_credentials: {file: vertex.json}
    pricing: {input: 2.5e-7, output_cost_per_token: 0.000002}
    model_info: {mode: chat, supports_vision: true, input_cost_per_token: 9}
"""
    (tmp_path / "vertex.json").write_text('{"type": "service account"}\n')
    (row,) = reading(tmp_path, models=models).models
    assert row.params == {
        "model": "openai/gpt-5/mini",
        "api_base": "https://api.example.com/v1",
        "api_key": Secret("sk-hunter2"),
        "max_tokens": 4096,
        "temperature": 0.1,
        "aws_secret_access_key": Secret("hunter3"),
        "extra_headers": {"x-team": Secret("hunter4")},
        "extra_body": {"password": [Secret("hunter5")], "top_k": 3},
        "vertex_credentials": Secret('{"type": "service account"}'),
        "input_cost_per_token": 2.5e-7,
        "output_cost_per_token": 0.000002,
    }
    assert row.info == {"mode": "chat", "supports_vision": True}
    assert row.shown == {"display_name": "GPT", "released": "2026-05-01", "context_window": 128000}
    assert (row.self_hosted, row.provider, row.served_name) == (False, "openai", "gpt-5/mini")
    assert "hunter" not in repr(row)


def test_it_lets_one_name_be_both_self_hosted_and_commercial(tmp_path: Path) -> None:
    models = (
        MODELS + "  - model_name: qwen3-8b\n    litellm_params: {model: openai/q, api_base: https://api.example.com}\n"
    )
    config = reading(tmp_path, with_fleet("hosts: {203.0.113.10: [[qwen3-8b, 8001]]}"), models)
    box = config.self_hosted("qwen3-8b")
    assert len(config.models) == 2 and box is not None and box.self_hosted
    assert config.self_hosted("other") is None


def test_it_knows_the_providers_of_litellm() -> None:
    assert len(PROVIDERS) > 150 and {"openai", "hosted_vllm", "anthropic", "vertex_ai", "azure"} <= PROVIDERS


def test_it_reads_500_hosts_in_well_under_a_second(tmp_path: Path) -> None:
    hosts = "".join(f"\n  203.0.{n // 250}.{n % 250}: [[qwen3-8b, 8001]]" for n in range(500))
    path = write(tmp_path, with_fleet(f"hosts:{hosts}"))
    started = time.process_time()
    assert len(load(path).fleet.hosts) == 500
    assert time.process_time() - started < 2


def test_it_reads_a_part_that_is_used_twice_and_overrides_what_it_merges(tmp_path: Path) -> None:
    """The part is one node of the tree, and holds the merged key beside its own once it was unfolded."""
    shared = (
        "models:\n"
        "  - model_name: base\n"
        "    litellm_params: &base {model: openai/a, api_base: 'https://api.example.com/v1', timeout: 1}\n"
        "  - model_name: twice\n"
        "    litellm_params: &own\n"
        "      <<: *base\n"
        "      timeout: 2\n"
        "  - {model_name: again, litellm_params: *own}\n"
    )
    models = load(write(tmp_path, models=shared)).models
    assert [model.params["timeout"] for model in models] == [1, 2, 2]
