"""LiteLLM twice, as in tests/litellm: the stand-in, and (marker real_litellm) the unmodified proxy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from litellm_sync.client import LiteLLM
from litellm_sync.executor import Outcome
from reconcile.identity import Key, deployment_id
from reconcile.inputs import Deployment, Kind
from reconcile.view import Action
from sim import litellm as sim
from sim.background import LoopThread
from sim.vllm import VLLM, Listener
from tests.litellm.api import Api
from tests.litellm_real.proxy import litellm_venv, running_proxy

BOX_KEY = "sk-vllm-made-up-for-these-tests"
HASH = "a" * 32
SECRETS = {HASH: BOX_KEY}
TIMEOUT_S = 30.0


@pytest.fixture(scope="session")
def background() -> Iterator[LoopThread]:
    with LoopThread("litellm-sync") as background:
        yield background


@pytest.fixture(scope="session")
def box(background: LoopThread) -> Iterator[Listener]:
    """A vLLM that serves `tiny`."""
    box = Listener(VLLM("tiny", "made-up/tiny-weights", BOX_KEY), "127.0.0.1")
    background.run(box.open())
    yield box
    background.run(box.close())


@pytest.fixture(scope="session", params=["standin", pytest.param("real", marks=pytest.mark.real_litellm)])
def proxy_url(
    request: pytest.FixtureRequest, background: LoopThread, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "real":
        with running_proxy(litellm_venv(), tmp_path_factory.mktemp("litellm-sync") / "litellm.db") as real:
            yield real.base_url
        return
    standin = sim.LiteLLM()
    yield background.run(standin.start())
    background.run(standin.stop())


@pytest.fixture
def standin(background: LoopThread) -> Iterator[sim.LiteLLM]:
    """A stand-in of the test's own, to be spoilt."""
    standin = sim.LiteLLM()
    background.run(standin.start())
    yield standin
    background.run(standin.stop())


@pytest.fixture
def litellm(proxy_url: str) -> Iterator[LiteLLM]:
    """A client on a proxy that holds no rows, and holds none afterwards."""
    client = LiteLLM(f"{proxy_url}/", sim.MASTER_KEY, TIMEOUT_S)
    yield client
    for row in client.deployments():
        client.delete(row.id)


@pytest.fixture
def api(proxy_url: str) -> Api:
    """The same proxy without our client, to see what it holds."""
    return Api(proxy_url, sim.MASTER_KEY)


def client_of(standin: sim.LiteLLM, timeout_s: float = TIMEOUT_S, key: str = sim.MASTER_KEY) -> LiteLLM:
    return LiteLLM(standin.base_url, key, timeout_s)


def body(key: Key, url: str, **params: Any) -> dict[str, Any]:
    """A row as llmao writes it, its api_key hashed."""
    return {
        "model_name": key.model,
        "litellm_params": {
            "model": "hosted_vllm/tiny",
            "api_base": f"{url}/v1",
            "api_key": {"secret": HASH},
            **params,
        },
        "model_info": {
            "id": deployment_id(key),
            "llmao_key": key.url,
            "asf_api_base": url,
            "llmao_body": "0123456789abcdef",
            "llmao_params": ["api_base", "api_key", "model"],
            "mode": "chat",
            "health_check_timeout": 2,
        },
    }


KEY = Key("http://203.0.113.10:8003", "qwen3-8b")


def action(kind: Kind, key: Key = KEY, after: dict[str, Any] | None = None, **rest: Any) -> Action:
    """A ready action on the key's row."""
    return Action(
        kind=kind,
        key=key,
        name=f"203.0.113.10:8003/{key.model}",
        deployment_id=deployment_id(key),
        reason="for a test",
        policy="auto",
        status=rest.pop("status", "ready"),
        digest="d",
        after=after,
        **rest,
    )


@dataclass
class Notes:
    """A recorder that keeps everything in order, and what LiteLLM had been asked when an attempt began."""

    said: list[tuple[str, str, Outcome | None]] = field(default_factory=list)
    writes_before: list[int] = field(default_factory=list)
    proxy: sim.LiteLLM | None = None

    def begin(self, action: Action) -> None:
        self.said.append(("begin", action.kind, None))
        self.writes_before.append(len(self.proxy.writes) if self.proxy else 0)

    def finish(self, action: Action, outcome: Outcome) -> None:
        self.said.append(("finish", action.kind, outcome))

    @property
    def outcomes(self) -> list[Outcome]:
        return [outcome for _, _, outcome in self.said if outcome]

    @property
    def answers(self) -> list[str]:
        return [outcome.answer for outcome in self.outcomes]


def row_of(client: LiteLLM, key: Key = KEY) -> Deployment | None:
    return next((row for row in client.deployments() if row.id == deployment_id(key)), None)
