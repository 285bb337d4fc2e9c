"""What only the stand-in can do; what it shares with the real proxy is in tests/litellm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sim.background import LoopThread
from sim.litellm import MASTER_KEY, Fault, LiteLLM
from tests.sim.asking import Answer, ask

ROW: dict[str, Any] = {
    "model_name": "qwen3-8b",
    "litellm_params": {"model": "hosted_vllm/qwen3-8b", "api_base": "http://127.0.0.1:1/v1", "api_key": "sk-vllm-x"},
    "model_info": {"id": "llmao-1", "health_check_timeout": 1},
}


@pytest.fixture
def litellm() -> Iterator[LiteLLM]:
    with LoopThread("litellm") as background:
        litellm = LiteLLM()
        background.run(litellm.start())
        yield litellm
        background.run(litellm.stop())


def _add(litellm: LiteLLM, timeout_s: float = 10.0) -> Answer:
    return ask(f"{litellm.base_url}/model/new", MASTER_KEY, method="POST", body=ROW, timeout_s=timeout_s)


def _get(litellm: LiteLLM, path: str) -> Answer:
    return ask(f"{litellm.base_url}{path}", MASTER_KEY)


def test_it_counts_reads_and_writes_apart(litellm: LiteLLM) -> None:
    _get(litellm, "/model/info")
    _get(litellm, "/health/readiness")
    _add(litellm)
    _add(litellm)
    ask(f"{litellm.base_url}/v1/chat/completions", MASTER_KEY, method="POST", body={"model": "none"})
    assert [call.path for call in litellm.reads] == ["/model/info", "/health/readiness"]
    assert [(call.path, call.status) for call in litellm.writes] == [("/model/new", 200), ("/model/new", 500)]
    assert len(litellm.calls) == 5


def test_it_answers_with_an_ordered_fault_as_often_as_asked(litellm: LiteLLM) -> None:
    litellm.faults.append(Fault("/model/info", status=502, text="<html>Bad gateway</html>", times=2))
    assert [_get(litellm, "/model/info").status for _ in range(3)] == [502, 502, 200]
    assert _get(litellm, "/health/readiness").status == 200


def test_it_loses_the_answer_of_a_write_that_it_carried_out(litellm: LiteLLM) -> None:
    litellm.faults.append(Fault("/model/new", delay_s=5, after=True, times=1))
    with pytest.raises(OSError):
        _add(litellm, timeout_s=0.3)
    assert list(litellm.rows()) == ["llmao-1"]
    assert _add(litellm).status == 500


def test_it_loses_its_database(litellm: LiteLLM) -> None:
    litellm.store.connected = False
    answer = ask(f"{litellm.base_url}/health/readiness")
    assert (answer.status, answer.body["db"]) == (503, "disconnected")
    assert _add(litellm).status == 500
    assert litellm.rows() == {}


def test_it_lists_rows_as_heavy_as_the_real_ones(litellm: LiteLLM) -> None:
    _add(litellm)
    assert 5_000 < len(_get(litellm, "/model/info").text) < 12_000
