from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from fleet import clock, fetching, passes, snapshots
from fleet.models import Snapshot, SourceState
from fleet.sources import litellm_health
from fleet.sources.litellm_health import fetch, join
from litellm_sync.client import LiteLLM as Client
from reconcile.inputs import Deployment, Deployments, Opinion, Opinions
from reconcile.view import Plan, View
from sim.background import LoopThread
from sim.litellm import Fault, LiteLLM, Row
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
    """What is known once the source has taken in the answers."""
    new = fetch(View(ask=identifiers))
    snapshots.publish("litellm_health", new, clock.now(), join)
    return known()


def known() -> dict[str, Opinion]:
    read = snapshots.latest("litellm_health", Opinions)
    return {each.id: each for each in read.opinions} if read else {}


def checks(litellm: LiteLLM) -> list[str]:
    """The queries of all health checks that were asked for."""
    return sorted(call.query for call in litellm.calls if call.path == "/health")


def opinion(identifier: str, asked_at: float = 1.0) -> Opinion:
    return Opinion(id=identifier, state="up", asked_at=asked_at)


def publish(*opinions: Opinion) -> None:
    snapshots.publish("litellm_health", Opinions(opinions=opinions), clock.now())


def test_it_asks_about_the_rows_that_the_view_names(rows: LiteLLM) -> None:
    before = clock.now()
    found = asked("up", "down")
    assert {name: each.state for name, each in found.items()} == {"up": "up", "down": "down"}
    for each in found.values():
        assert before - 0.01 <= each.asked_at <= clock.now() + 0.01
    assert checks(rows) == ["model_id=down", "model_id=up"]
    assert KEY not in repr(found)


def test_it_asks_nothing_that_it_was_not_told_to(rows: LiteLLM) -> None:
    assert asked() == {}
    assert rows.calls == []


def test_it_carries_the_others_over(rows: LiteLLM) -> None:
    publish(opinion("down", 5.0), opinion("up", 5.0))
    found = asked("down")
    assert found["up"] == opinion("up", 5.0)
    assert (found["down"].state, found["down"].asked_at > 5.0) == ("down", True)


def test_it_drops_opinions_from_before_the_clock_was_set_back(rows: LiteLLM) -> None:
    ahead = opinion("down", clock.now() + 3600)
    snapshots.publish("litellm_health", Opinions(opinions=(ahead, opinion("up"))), clock.now())
    assert set(asked()) == {"up"}


def test_it_drops_rows_that_are_not_listed_any_more(rows: LiteLLM) -> None:
    publish(opinion("gone"), opinion("up"))
    assert set(asked("gone")) == {"up"}
    assert rows.calls == []


def test_it_keeps_everything_while_the_deployments_were_never_read(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    publish(opinion("one"))
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
    publish(opinion("up"))
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
    publish(opinion("up"))
    assert asked("up", "down") == {"up": opinion("up")}
    assert checks(rows) == []


# --- the whole list -------------------------------------------------------------------------------------------------


def read_all() -> bool:
    """As beat has it read: single questions, and the list when it is due."""
    return fetching.fetch("litellm_health", waking=False)


def whole_at() -> float | None:
    read = snapshots.latest("litellm_health", Opinions)
    return read.whole_at if read else None


def list_state() -> SourceState:
    return SourceState.objects.get(name="litellm_health_list")


def begun(seconds_ago: float) -> None:
    SourceState.objects.update_or_create(
        name="litellm_health_list", defaults={"taken_at": clock.now() - seconds_ago, "failed_at": None}
    )


def test_it_asks_about_all_rows_at_once(rows: LiteLLM) -> None:
    before = clock.now()
    assert read_all()
    assert {name: each.state for name, each in known().items()} == {"up": "up", "down": "down"}
    for each in known().values():
        assert before <= each.asked_at <= clock.now()
        assert "\n" not in each.detail
    assert checks(rows) == [""]
    assert whole_at() == known()["up"].asked_at
    assert "Cannot connect" in known()["down"].detail
    assert KEY not in repr(known())


def test_it_asks_for_the_whole_list_once_per_interval(rows: LiteLLM, configure: Configure) -> None:
    configure(litellm=rows.base_url, litellm_health_interval_s=1000)
    for seconds_ago, asked_now in ((0, 0), (500, 0), (930, 0), (941, 1), (5000, 1)):
        rows.calls.clear()
        begun(seconds_ago)
        assert read_all()
        assert checks(rows) == [""] * asked_now


@pytest.mark.parametrize("ending", ["fails", "is killed"])
def test_it_is_not_asked_again_before_its_time_however_it_ended(
    rows: LiteLLM, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ending == "fails":
        rows.faults.append(Fault("/health", status=502))
        assert not read_all()
        assert list_state().error == "LiteLLM answers 502: upstream error"
        assert SourceState.objects.get(name="litellm_health").error == list_state().error
    else:
        monkeypatch.setattr(Client, "health_of_all", lambda *_, **__: sys.exit())
        with pytest.raises(SystemExit):
            read_all()
        assert list_state().error == "begun, and not ended"
    rows.calls.clear()
    assert read_all()
    assert checks(rows) == []
    assert (known(), whole_at()) == ({}, None)


def test_it_sends_for_the_list_and_does_not_wait_for_it(rows: LiteLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(fetching, "send", lambda *message, **_: sent.append(message))
    passes.store(clock.now(), View(ask=("up",)), Plan(), {}, 0.0)
    assert fetching.fetch_unless_busy("litellm_health")
    assert checks(rows) == ["model_id=up"]
    assert sent == [("fleet.fetch", "due", "litellm_health_list")]
    assert fetching.fetch_unless_busy("litellm_health_list")
    assert checks(rows) == ["", "model_id=up"]
    assert not fetching.fetch_unless_busy("litellm_health_list"), "a second message says nothing new"
    assert fetching.fetch_unless_busy("litellm_health")
    assert (len(sent), checks(rows)) == (1, ["", "model_id=up", "model_id=up"])


@pytest.mark.django_db(transaction=True)
def test_it_lets_single_questions_pass_a_list_that_runs(rows: LiteLLM) -> None:
    """A second opinion does not wait for minutes. What was asked later counts, whichever is answered first."""

    def whole() -> bool:
        try:
            return fetching.fetch_unless_busy("litellm_health_list")
        finally:
            connections.close_all()

    late = Fault("/health", delay_s=2.0, after=True, times=1)
    rows.faults.append(late)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(whole)
        while late.times:
            time.sleep(0.01)
        passes.store(clock.now(), View(ask=("down",)), Plan(), {}, 0.0)
        assert fetching.fetch_unless_busy("litellm_health")
        single = known()["down"]
        assert not running.done()
        assert running.result(20)
    assert (known()["down"], known()["up"].state) == (single, "up")
    assert (whole_at() or clock.now()) < single.asked_at


def test_it_keeps_what_is_known_of_a_row_that_the_list_does_not_name(rows: LiteLLM) -> None:
    """Not named is no information; the row's own next question tells."""
    publish(opinion("up"), opinion("down", 7.0))
    told = '{"healthy_endpoints": [{"model_id": "up"}, {"model_id": "of another"}], "unhealthy_endpoints": []}'
    rows.faults.append(Fault("/health", status=200, text=told, content_type="application/json"))
    assert read_all()
    assert known()["down"] == opinion("down", 7.0)
    assert known()["up"].asked_at == whole_at()
    assert set(known()) == {"up", "down"}


def test_it_takes_two_empty_lists_for_no_information(rows: LiteLLM) -> None:
    publish(opinion("up"))
    told = '{"healthy_endpoints": [], "unhealthy_endpoints": []}'
    rows.faults.append(Fault("/health", status=200, text=told, content_type="application/json"))
    assert not read_all()
    assert list_state().error == "LiteLLM answers /health with a health check of none of its 2 rows"
    assert (known(), whole_at()) == ({"up": opinion("up")}, None)


def test_it_asks_a_litellm_without_rows_and_hears_of_none(litellm: LiteLLM, configure: Configure) -> None:
    configure(litellm=litellm.base_url)
    snapshots.publish("deployments", Deployments(), clock.now())
    before = clock.now()
    assert read_all()
    assert known() == {}
    assert (whole_at() or 0.0) >= before


def test_it_begins_anew_on_a_reading_of_another_version(rows: LiteLLM) -> None:
    publish(opinion("up"))
    Snapshot.objects.filter(source="litellm_health").update(body=zlib.compress(b'{"opinions": "of another shape"}'))
    assert asked("down").keys() == {"down"}
    Snapshot.objects.filter(source="deployments").update(body=zlib.compress(b'{"deployments": "of another shape"}'))
    assert asked("up").keys() == {"down", "up"}


def test_it_gives_the_list_a_time_limit_of_its_own(
    rows: LiteLLM, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(litellm=rows.base_url, timeout_s=0.5)
    rows.faults.append(Fault("/health", delay_s=1.0))
    assert read_all(), "longer than a request may take"
    monkeypatch.setattr(litellm_health, "LIST_S", 0.3)
    begun(99999)
    assert not read_all()
    assert list_state().error.endswith("did not answer within 0.3 s")


# --- a LiteLLM that checks in the background ------------------------------------------------------------------------


@pytest.fixture
def cached(background: LoopThread, box: Listener, configure: Configure) -> Iterator[LiteLLM]:
    """Its last round found the row "up" up, and its configuration says 300 s."""
    row = Row("up", "tiny", {"model": "hosted_vllm/tiny", "api_base": f"{box.url}/v1", "api_key": KEY})
    litellm = LiteLLM(master_key=MASTER_KEY, config_rows=[row], background_s=300, told_background_s=300)
    background.run(litellm.start())
    configure(litellm=litellm.base_url)
    client = Client(litellm.base_url, MASTER_KEY, 5)
    snapshots.publish("deployments", Deployments(deployments=client.deployments()), clock.now())
    while box.server.requests["/v1/chat/completions"] == 0 or not client.health_of_all(None, asked_at=0, timeout_s=5):
        time.sleep(0.02)
    litellm.calls.clear()
    yield litellm
    background.run(litellm.stop())


def test_it_takes_a_cached_list_for_as_old_as_it_may_be(cached: LiteLLM, box: Listener) -> None:
    """300 s between two rounds, and a round shows up to a minute after it began, until the next one has ended."""
    completions = box.server.requests["/v1/chat/completions"]
    before = clock.now()
    assert read_all()
    up = known()["up"]
    assert (up.state, whole_at()) == ("up", up.asked_at + 420)
    assert before - 420 <= up.asked_at <= clock.now() - 420
    assert box.server.requests["/v1/chat/completions"] == completions


def test_it_tests_a_single_row_in_earnest(cached: LiteLLM, box: Listener, background: LoopThread) -> None:
    """The cache goes on saying up; a second opinion from it would be older than the misses that it is about."""
    background.run(box.close())
    before = clock.now()
    down = asked("up")["up"]
    assert (down.state, down.asked_at >= before) == ("down", True)
    assert read_all()
    assert known()["up"] == down, "what the cache says is older"
    background.run(box.open())


def test_it_knows_nothing_while_litellm_does_not_say_how_it_checks(rows: LiteLLM) -> None:
    rows.faults.append(Fault("/config/field/info", status=500, text="no database"))
    assert asked("up")["up"].state == "unknown"
    assert asked("up")["up"].detail == "LiteLLM answers 500: no database"
    assert not read_all()
    assert checks(rows) == []


def test_it_keeps_no_configured_secret_that_a_provider_repeats(rows: LiteLLM) -> None:
    body = {"healthy_endpoints": [], "unhealthy_endpoints": [{"model_id": "down", "error": f"who is {SALT}?"}]}
    rows.faults.append(Fault("/health", status=503, text=json.dumps(body), content_type="application/json"))
    assert asked("down")["down"].detail == "who is •••?"
