"""One deployment under several names: only the real proxy, with a configuration of its own, does this."""

from __future__ import annotations

from pathlib import Path

import pytest

from litellm_sync.client import LiteLLM
from tests.litellm_real.proxy import HERE, MASTER_KEY, litellm_venv, running_proxy

CONFIG = """\
model_list:
  - model_name: plain
    litellm_params: {model: hosted_vllm/plain, api_base: "http://127.0.0.1:1/v1", api_key: sk-made-up}
    model_info: {id: plain-1}
  - model_name: "openai/*"
    litellm_params: {model: "openai/*", api_key: sk-made-up}
    model_info: {id: wild-1}
router_settings:
  model_group_alias: {other-name: plain}
"""


@pytest.mark.real_litellm
def test_it_reads_one_row_an_id_and_an_alias_beside_it(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text((HERE / "proxy_config.yaml").read_text().replace("model_list: []", CONFIG))
    with running_proxy(litellm_venv(), tmp_path / "litellm.db", config=config) as proxy:
        rows = LiteLLM(proxy.base_url, MASTER_KEY, 30).deployments()
    shown = {row.id: (row.name, row.db_model, row.api_base) for row in rows}
    assert len(shown) == len(rows) == 3
    assert shown["plain-1"] == ("plain", False, "http://127.0.0.1:1/v1")
    assert shown["plain-1@other-name"] == ("other-name", False, "http://127.0.0.1:1/v1")
    assert shown["wild-1"][0].startswith("openai/")
