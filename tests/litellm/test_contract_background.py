"""A LiteLLM that checks its rows in the background answers from a cache: old, and without a word about how old."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.background import LoopThread
from sim.litellm import MASTER_KEY
from sim.vllm import VLLM, Listener
from tests.litellm.api import Api, eventually
from tests.litellm.conftest import BOX_KEY, CONFIG_ROW, real, standin

INTERVAL_S = 300
SETTINGS = f"  background_health_checks: true\n  health_check_interval: {INTERVAL_S}\n"


@pytest.fixture(scope="module")
def dying(background: LoopThread) -> Iterator[Listener]:
    """A box that the tests may kill."""
    box = Listener(VLLM("tiny", "made-up/tiny-weights", BOX_KEY), "127.0.0.1")
    background.run(box.open())
    yield box
    background.run(box.close())


@pytest.fixture(scope="module", params=["standin", pytest.param("real", marks=pytest.mark.real_litellm)])
def api(
    request: pytest.FixtureRequest, background: LoopThread, dying: Listener, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """A proxy whose one round of checks found the config file's row up."""
    base = f"{dying.url}/v1"
    ways = {"background_s": INTERVAL_S, "told_background_s": INTERVAL_S}
    folder = tmp_path_factory.mktemp("background")
    running = (
        standin(background, base, 1, **ways) if request.param == "standin" else real(folder, base, 1, settings=SETTINGS)
    )
    with running as (url,):
        api = Api(url, MASTER_KEY)
        assert eventually(lambda: bool(api.get("/health").body.get("healthy_endpoints")))
        yield api


def test_it_says_how_it_checks(api: Api) -> None:
    told = {name: api.get(f"/config/field/info?field_name={name}") for name in ("background_health_checks",
                                                                              "health_check_interval")}  # fmt: skip
    assert {name: (answer.status, answer.body["field_value"]) for name, answer in told.items()} == {
        "background_health_checks": (200, True),
        "health_check_interval": (200, INTERVAL_S),
    }


def test_it_answers_from_its_cache_and_tests_in_earnest(api: Api, dying: Listener, background: LoopThread) -> None:
    """Cached answers have no time and cost nothing; the one question that is answered now is the connection test."""
    checked = dying.server.requests["/v1/chat/completions"]
    background.run(dying.close())
    whole, narrowed = api.get("/health"), api.health(CONFIG_ROW)
    assert [entry["model_id"] for entry in whole.body["healthy_endpoints"]] == [CONFIG_ROW]
    assert (narrowed.status, narrowed.body["healthy_count"]) == (200, 1)
    assert {name for entry in whole.body["healthy_endpoints"] for name in entry} == {"api_base", "model", "model_id"}
    assert dying.server.requests["/v1/chat/completions"] == checked
    assert api.test_connection(CONFIG_ROW).body["status"] == "error"
    background.run(dying.open())
    assert api.test_connection(CONFIG_ROW).body["status"] == "success"


def test_it_has_nothing_of_a_row_that_came_after_the_last_round(api: Api, dying: Listener) -> None:
    params = {"model": "hosted_vllm/tiny", "api_base": f"{dying.url}/v1", "api_key": BOX_KEY}
    body = {"model_name": "later", "litellm_params": params, "model_info": {"id": "llmao-later"}}
    assert api.post("/model/new", body).status == 200
    answer = api.health("llmao-later")
    assert answer.status == 503
    assert (answer.body["healthy_endpoints"], answer.body["unhealthy_endpoints"]) == ([], [])
    assert api.health("llmao-unknown").status == 404
