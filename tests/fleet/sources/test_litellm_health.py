from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fleet import clock, snapshots
from fleet.sources import litellm_health
from fleet.sources.litellm_health import fetch
from litellm_sync.client import LiteLLM as Client
from reconcile.inputs import Deployment, Deployments, Opinion, Opinions
from reconcile.view import View
from sim.background import LoopThread
from sim.litellm import Fault, LiteLLM
from sim.vllm import VLLM, Listener
from tests.fleet.sources.conftest import MASTER_KEY, SALT, Configure

pytestmark = pytest.mark.django_db
KEY = "sk-vllm-made-up"
NOTHING = "http://127.0.0.1:1"


@pytest.fixture
def litellm(background: LoopThread) -> Iterator[LiteLLM]:
    litellm = LiteLLM(master_key=MASTER_KEY)
    background.run(litellm.start())
    yield litellm
    background.run(litellm.stop())


@pytest.fixture
def box(background: LoopThread) -> Iterator[Listener]:
    box = Listener(VLLM("tiny", "made-up/tiny", KEY), "127.0.0.1")
    background.run(box.open())
    yield box
    background.run(box.close())


@pytest.fixture
def rows(litellm: LiteLLM, box: Listener, configure: Configure) -> LiteLLM:
    """Rows "up" and "down" in LiteLLM and in the deployments' reading."""
    configure(litellm=litellm.base_url)
    client = Client(litellm.base_url, MASTER_KEY, 5)
    for identifier, base in (("up", box.url), ("down", NOTHING)):
        params = {"model": "hosted_vllm/tiny", "api_base": f"{base}/v1", "api_key": KEY}
        info = {"id": identifier, "health_check_timeout": 1}
        client.create({"model_name": identifier, "litellm_params": params, "model_info": info})
    snapshots.publish("deployments", Deployments(deployments=client.deployments()), clock.now())
    litellm.calls.clear()
    return litellm


def asked(*identifiers: str) -> dict[str, Opinion]:
    return {each.id: each for each in fetch(View(ask=identifiers)).opinions}


def opinion(identifier: str, asked_at: float = 1.0) -> Opinion:
    return Opinion(id=identifier, state="up", asked_at=asked_at)


def test_it_asks_about_the_rows_that_the_view_names(rows: LiteLLM) -> None:
    before = clock.now()
    found = asked("up", "down")
    assert {name: each.state for name, each in found.items()} == {"up": "up", "down": "down"}
    for each in found.values():
        assert before - 0.01 <= each.asked_at <= clock.now() + 0.01
    assert sorted(call.query for call in rows.calls) == ["model_id=down", "model_id=up"]
    assert KEY not in repr(found)


def test_it_asks_nothing_that_it_was_not_told_to(rows: LiteLLM) -> None:
    assert asked() == {}
    assert rows.calls == []


def test_it_carries_the_others_over(rows: LiteLLM) -> None:
    snapshots.publish("litellm_health", Opinions(opinions=(opinion("down", 5.0), opinion("up", 5.0))), clock.now())
    found = asked("down")
    assert found["up"] == opinion("up", 5.0)
    assert (found["down"].state, found["down"].asked_at > 5.0) == ("down", True)


def test_it_drops_opinions_from_before_the_clock_was_set_back(rows: LiteLLM) -> None:
    ahead = opinion("down", clock.now() + 3600)
    snapshots.publish("litellm_health", Opinions(opinions=(ahead, opinion("up"))), clock.now())
    assert set(asked()) == {"up"}


def test_it_drops_rows_that_are_not_listed_any_more(rows: LiteLLM) -> None:
    snapshots.publish("litellm_health", Opinions(opinions=(opinion("gone"), opinion("up"))), clock.now())
    assert set(asked("gone")) == {"up"}
    assert rows.calls == []


def test_it_keeps_everything_while_the_deployments_were_never_read(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    snapshots.publish("litellm_health", Opinions(opinions=(opinion("one"),)), clock.now())
    found = asked("two")
    assert {name: each.state for name, each in found.items()} == {"one": "up", "two": "unknown"}
    assert found["two"].detail == "LiteLLM answers 404: Model with ID two not found"


def test_it_takes_silence_for_no_information(rows: LiteLLM, configure: Configure) -> None:
    configure(litellm=rows.base_url, timeout_s=0.5)
    rows.faults.append(Fault("/health", delay_s=3))
    found = asked("up", "down")
    assert [(each.state, each.detail.endswith("within 0.5 s")) for each in found.values()] == [("unknown", True)] * 2


def test_it_takes_a_new_silence_over_an_old_answer(rows: LiteLLM) -> None:
    """What was up five hours ago says nothing about a row that LiteLLM cannot tell us about now."""
    snapshots.publish("litellm_health", Opinions(opinions=(opinion("up"),)), clock.now())
    rows.faults.append(Fault("/health", status=500))
    assert asked("up")["up"].state == "unknown"


def test_it_joins_by_address_where_an_old_litellm_names_no_id(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    row = Deployment(id="one", name="tiny", model="hosted_vllm/tiny", api_base="http://203.0.113.10:1/v1")
    snapshots.publish("deployments", Deployments(deployments=(row,)), clock.now())
    told = '{"healthy_endpoints": [{"api_base": "http://203.0.113.10:1/v1/"}], "unhealthy_endpoints": []}'
    litellm.faults.append(Fault("/health", status=200, text=told, content_type="application/json"))
    assert asked("one")["one"].state == "up"


def test_it_leaves_out_what_it_has_no_time_for(rows: LiteLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_health, "ENOUGH_S", -1.0)
    snapshots.publish("litellm_health", Opinions(opinions=(opinion("up"),)), clock.now())
    assert asked("up", "down") == {"up": opinion("up")}
    assert rows.calls == []


def test_it_keeps_no_configured_secret_that_a_provider_repeats(rows: LiteLLM) -> None:
    body = {"healthy_endpoints": [], "unhealthy_endpoints": [{"model_id": "down", "error": f"who is {SALT}?"}]}
    rows.faults.append(Fault("/health", status=503, text=json.dumps(body), content_type="application/json"))
    assert asked("down")["down"].detail == "who is •••?"
