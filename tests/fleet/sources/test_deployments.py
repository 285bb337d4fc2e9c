from __future__ import annotations

from collections.abc import Iterator

import pytest

from fleet.sources.base import SourceError
from fleet.sources.deployments import fetch
from litellm_sync.client import LiteLLM as Client
from reconcile.inputs import Deployments
from reconcile.view import View
from sim.background import LoopThread
from sim.litellm import LiteLLM, Row
from tests.fleet.sources.conftest import MASTER_KEY, Configure

CONFIG_ROW = Row("config-1", "from-config", {"model": "openai/gpt-4o", "api_base": "https://api.invalid/v1"})


@pytest.fixture
def litellm(background: LoopThread) -> Iterator[LiteLLM]:
    litellm = LiteLLM(master_key=MASTER_KEY, config_rows=[CONFIG_ROW])
    background.run(litellm.start())
    yield litellm
    background.run(litellm.stop())


def test_it_reads_every_row_ours_or_not(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    params = {"model": "hosted_vllm/qwen3-8b", "api_base": "http://203.0.113.10:40001/v1", "api_key": "sk-made-up"}
    body = {"model_name": "qwen3-8b", "litellm_params": params, "model_info": {"id": "llmao-1", "llmao_key": "k"}}
    Client(litellm.base_url, MASTER_KEY, 5).create(body)
    read = fetch(View())
    assert [(row.id, row.name, row.db_model, row.llmao_key) for row in read.deployments] == [
        ("config-1", "from-config", False, None),
        ("llmao-1", "qwen3-8b", True, "k"),
    ]
    assert "sk-made-up" not in repr(read)


def test_it_reads_an_empty_proxy_as_empty(background: LoopThread, configure: Configure) -> None:
    empty = LiteLLM(master_key=MASTER_KEY)
    configure(litellm=background.run(empty.start()))
    assert fetch(View()) == Deployments()
    background.run(empty.stop())


def test_it_asks_once(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    fetch(View())
    assert [(call.method, call.path) for call in litellm.calls] == [("GET", "/model/info")]


def test_it_fails_with_a_wrong_key(litellm: LiteLLM, configure: Configure) -> None:
    litellm._routes.master_key = "another"
    configure(litellm=litellm.base_url)
    with pytest.raises(SourceError) as caught:
        fetch(View())
    assert caught.value.message.startswith("LiteLLM answers 401: ")
    assert caught.value.message.endswith("(litellm.master_key must be LiteLLM's own master key)")


def test_it_fails_when_nobody_answers(configure: Configure) -> None:
    configure(litellm="http://127.0.0.1:1")
    with pytest.raises(SourceError) as caught:
        fetch(View())
    assert caught.value.message == "LiteLLM at 127.0.0.1:1 refuses the connection"


def test_it_fails_with_the_first_mistake_where_there_never_was_a_configuration(configure: Configure) -> None:
    configure(key=["not a text"])
    with pytest.raises(SourceError) as caught:
        fetch(View())
    assert caught.value.message.startswith("no valid configuration yet: config.yaml:")


def test_it_goes_on_with_the_last_good_configuration(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    fetch(View())
    configure(litellm=litellm.base_url, key=["not a text"])
    assert [row.id for row in fetch(View()).deployments] == ["config-1"]
