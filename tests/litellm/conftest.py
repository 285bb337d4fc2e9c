"""LiteLLM twice: the stand-in, and (marker real_litellm) the unmodified proxy. Every test here runs against both."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sim.background import LoopThread
from sim.litellm import MASTER_KEY, LiteLLM, Row, Store
from sim.vllm import VLLM, Listener
from tests.litellm.api import Api
from tests.litellm_real.proxy import HERE, litellm_venv, running_proxy

BOX_KEY = "sk-vllm-made-up-for-the-contract-tests"
CONFIG_ROW = "config-row-1"
CONFIG_NAME = "from-config"
#: A loopback port on which nothing listens.
NOTHING = "http://127.0.0.1:1/v1"


@dataclass
class Contract:
    """Two replicas on one store, and a box that serves `tiny`."""

    api: Api
    replica: Api
    box: Listener
    made: list[str] = field(default_factory=list)

    @property
    def up(self) -> str:
        return f"{self.box.url}/v1"

    def row(self, **info: Any) -> dict[str, Any]:
        """A body for /model/new as llmao writes them, under an id and a name of its own."""
        row_id = f"llmao-{uuid.uuid4()}"
        self.made.append(row_id)
        return {
            "model_name": f"qwen-{row_id[-6:]}",
            "litellm_params": {"model": "hosted_vllm/tiny", "api_base": self.up, "api_key": BOX_KEY},
            "model_info": {
                "id": row_id,
                "llmao_key": "http://203.0.113.10:8003",
                "asf_api_base": "http://203.0.113.10:40001",
                "self_hosted": True,
                "mode": "chat",
                "health_check_timeout": 2,
                **info,
            },
        }

    def add(self, **params: Any) -> tuple[str, dict[str, Any]]:
        """A row that is there; `params` go over its litellm_params. Its id, and the body that made it."""
        body = self.row()
        body["litellm_params"].update(params)
        answer = self.api.post("/model/new", body)
        assert answer.status == 200, answer
        return body["model_info"]["id"], body

    def without_key(self) -> Api:
        return Api(self.api.base_url, None)

    def with_key(self, key: str) -> Api:
        return Api(self.api.base_url, key)

    def with_virtual_key(self, models: list[str]) -> Api:
        return self.with_key(self.api.post("/key/generate", {"models": models}).body["key"])

    def clean(self) -> None:
        for row_id in self.made:
            self.api.post("/model/delete", {"id": row_id})


def _config_params(api_base: str) -> dict[str, str]:
    return {"model": "hosted_vllm/tiny", "api_base": api_base, "api_key": BOX_KEY}


@contextmanager
def standin(background: LoopThread, api_base: str, count: int = 2, **ways: Any) -> Iterator[list[str]]:
    """Replicas of the stand-in that have the config file's row; their URLs."""
    store, config_row = Store(), Row(CONFIG_ROW, CONFIG_NAME, _config_params(api_base))
    replicas = [LiteLLM(store, config_rows=[config_row], poll_s=0.3, **ways) for _ in range(count)]
    yield [background.run(replica.start()) for replica in replicas]
    for replica in replicas:
        background.run(replica.stop())


@contextmanager
def real(folder: Path, api_base: str, count: int = 2, settings: str = "") -> Iterator[list[str]]:
    """The same with the real proxy; `settings` are lines for its general_settings."""
    params = "".join(f"\n      {name}: {value}" for name, value in _config_params(api_base).items())
    row = (
        f"model_list:\n  - model_name: {CONFIG_NAME}\n    litellm_params:{params}\n    model_info: {{id: {CONFIG_ROW}}}"
    )
    text = (HERE / "proxy_config.yaml").read_text().replace("model_list: []", row)
    config = folder / "config.yaml"
    config.write_text(text.replace("general_settings:\n", f"general_settings:\n{settings}"))
    with ExitStack() as stack:
        starting = [running_proxy(litellm_venv(), folder / "litellm.db", config=config) for _ in range(count)]
        yield [stack.enter_context(each).base_url for each in starting]


@pytest.fixture(scope="session")
def background() -> Iterator[LoopThread]:
    with LoopThread("litellm-contract") as background:
        yield background


@pytest.fixture(scope="session")
def box(background: LoopThread) -> Iterator[Listener]:
    box = Listener(VLLM("tiny", "made-up/tiny-weights", BOX_KEY), "127.0.0.1")
    background.run(box.open())
    yield box
    background.run(box.close())


@pytest.fixture(scope="session", params=["standin", pytest.param("real", marks=pytest.mark.real_litellm)])
def proxies(
    request: pytest.FixtureRequest, background: LoopThread, box: Listener, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Api, Api]]:
    """Two replicas on one store; started once, because the real ones take their time."""
    folder = tmp_path_factory.mktemp("litellm")
    running = standin(background, f"{box.url}/v1") if request.param == "standin" else real(folder, f"{box.url}/v1")
    with running as (first, second):
        yield Api(first, MASTER_KEY), Api(second, MASTER_KEY)


@pytest.fixture
def litellm(proxies: tuple[Api, Api], box: Listener) -> Iterator[Contract]:
    contract = Contract(*proxies, box)
    yield contract
    contract.clean()
